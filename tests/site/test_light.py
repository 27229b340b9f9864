"""Pictures of the pages lose bytes, and nothing that is seen."""

import io
import types

import light
import matplotlib.image
import numpy as np
import pytest
from PIL import Image

from tested_transformer.book import figures


def png(pixels):
    made = io.BytesIO()
    Image.fromarray(pixels).save(made, "png")
    return made.getvalue()


def pixels(code):
    return np.asarray(Image.open(io.BytesIO(code)).convert("RGB"), float)


def figure():
    return figures.positions.heat(np.sin(np.outer(np.arange(48), np.linspace(0.1, 1, 64))))._repr_png_()[0]


def test_a_figure_gets_light_and_looks_the_same():
    code = figure()
    made = light.lightened(code)
    assert len(made) < len(code) / 2
    assert np.sqrt(((pixels(made) - pixels(code)) ** 2).mean()) < 2
    assert matplotlib.image.imread(io.BytesIO(made), "png").shape[:2] == pixels(code).shape[:2]
    assert np.all(pixels(made)[0, 0] == 255), "white stays white"
    assert light.lightened(made) == made, "once is enough"


def test_a_picture_whose_colours_would_be_seen_to_change_keeps_them():
    noise = png(np.random.default_rng(0).integers(0, 256, size=(60, 60, 3), dtype=np.uint8))
    assert light.lightened(noise) == noise


@pytest.mark.parametrize(("error", "kind"), [(None, "html"), (ValueError(), "html"), (None, "latex")])
def test_only_heavy_pictures_of_a_finished_site_are_touched(tmp_path, monkeypatch, error, kind):
    monkeypatch.setattr(light, "HEAVY", 1000)
    (tmp_path / "_images").mkdir()
    code = figure()
    small = png(np.zeros((4, 4, 3), np.uint8))
    assert len(code) > light.HEAVY > len(small)
    for name, content in {"a.png": code, "b.png": small}.items():
        (tmp_path / "_images" / name).write_bytes(content)
    app = types.SimpleNamespace(outdir=tmp_path, builder=types.SimpleNamespace(format=kind))
    light.lighten_pictures(app, error)
    changed = (tmp_path / "_images" / "a.png").read_bytes() != code
    assert changed == (error is None and kind == "html")
    assert (tmp_path / "_images" / "b.png").read_bytes() == small

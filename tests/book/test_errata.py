"""The errata: every test and object they name exists; what they say of weights and padding holds in every layer."""

import pkgutil
import re

import numpy as np
import pytest
import torch
from guards import BOOK, ROOT, cells
from helpers import normal

from tested_transformer.byhand.encoder import encoder_layer, part
from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import TINY
from tested_transformer.model.encoder import Encoder

CONFIG = TINY.replace(n_layers=3)
WIDTH, HEADS = CONFIG.d_model, CONFIG.n_heads
PARAMS = part(create_params(CONFIG, np.random.default_rng(0)), "encoder")


def by_hand(x, mask):
    """The weights of every layer, for each layer (B, H, S, S)."""
    found = []
    for i in range(CONFIG.n_layers):
        x, saved = encoder_layer(x, part(PARAMS, f"layers.{i}"), HEADS, mask)
        found.append(saved["self_attention"]["weights"])
    return found


def in_pytorch(x, mask):
    """The same from the modules, each layer asked on what the layer before really made."""
    encoder = Encoder(CONFIG).double().eval()
    encoder.load_state_dict({name: torch.tensor(value) for name, value in PARAMS.items()})
    x, mask, found = torch.tensor(x), None if mask is None else torch.tensor(mask), []
    with torch.no_grad():
        for layer in encoder.layers:
            found.append(layer.self_attention(x, x, x, mask, need_weights=True)[1].numpy())
            x = layer(x, mask)
    return found


@pytest.mark.parametrize("maps", [by_hand, in_pytorch], ids=lambda f: f.__name__)
def test_padding_changes_no_weight_in_any_layer(maps):
    x = normal(2, 5, WIDTH)
    visible = np.arange(5) < np.array([5, 2])[:, None]
    padded, short = maps(x, visible[:, None, None]), maps(x[1:, :2], None)
    for layer, alone in zip(padded, short, strict=True):
        assert np.allclose(layer[1:, :, :2, :2], alone, rtol=0, atol=1e-12)
        assert np.all(layer[1, :, :, 2:] == 0)


def test_numpy_and_pytorch_have_the_same_weights_in_every_layer():
    x = normal(2, 4, WIDTH, seed=1)
    for ours, theirs in zip(by_hand(x, None), in_pytorch(x, None), strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_every_test_that_the_errata_name_is_there():
    text = "\n".join(c["source"] for c in cells(BOOK / "errata.ipynb") if c["cell_type"] == "markdown")
    named = set(re.findall(r"`(test_\w+)`", text))
    there = {
        n
        for f in (ROOT / "tests").rglob("test_*.py")
        for n in re.findall(r"^def (test_\w+)", f.read_text("utf-8"), re.M)
    }
    assert named
    assert named <= there


def test_every_object_in_the_tables_from_texts_to_this_book_can_be_imported():
    text = "\n".join(c["source"] for c in cells(BOOK / "errata.ipynb") if c["cell_type"] == "markdown")
    section = re.search(r"^## From your text to this book$(.*?)^## ", text, re.M | re.S)[1]
    rows = [line.strip("|").split("|") for line in section.splitlines() if re.match(r"\|(?! There|:--)", line)]
    assert rows
    for there, here, where in rows:
        assert re.search(r"\]\(.+\)", where), f"{there}: no place"  # where it leads is checked with all links
        for name in re.findall(r"`([a-z]\w*(?:\.\w+)+)`", here):
            pkgutil.resolve_name(f"tested_transformer.{name}")

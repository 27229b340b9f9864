"""Run by a kernel at its start (PYTHONSTARTUP): notes the numbers that each picture is drawn from in the file DRAWN.

A picture is a line of JSON: the kind and the numbers of each line, image, bar, mark and label, and of each axis.
"""


def _note():
    """All in one function, because a chapter shares the names of this file."""
    import functools
    import json
    import os

    import numpy as np

    from tested_transformer.book.figures.picture import Picture

    shown = Picture._repr_svg_

    def parts(figure):
        for i, axes in enumerate(figure.axes):
            yield from sides(f"limits of axes {i}", np.transpose([axes.get_xlim(), axes.get_ylim()]))
            for line in axes.lines:
                yield from sides(f"line in axes {i}", line.get_xydata())
            for image in axes.images:
                yield f"image in axes {i}", image.get_array()
            for patch in axes.patches:
                corners = patch.get_patch_transform().transform(patch.get_path().vertices)
                yield from sides(f"patch in axes {i}", corners)
            for collection in axes.collections:
                yield from sides(f"marks in axes {i}", collection.get_offsets())
                if collection.get_array() is not None:
                    yield f"colours in axes {i}", collection.get_array()
                for path in collection.get_paths():
                    yield from sides(f"path in axes {i}", path.vertices)
            if axes.texts:
                words = " | ".join(text.get_text() for text in axes.texts)
                yield from sides(f"labels of axes {i} ({words})", [text.get_position() for text in axes.texts])

    def sides(kind, points):
        # a step of 100000 beside it must not hide that a loss moved
        for name, values in zip("xy", np.ma.transpose(np.ma.asarray(points)), strict=True):
            yield f"{kind}, {name}", values

    def plain(values):
        return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel().tolist()

    @functools.wraps(shown)
    def noted(figure):
        with open(os.environ["DRAWN"], "a", encoding="utf-8") as file:
            file.write(json.dumps([[kind, plain(values)] for kind, values in parts(figure)]) + "\n")
        return shown(figure)

    Picture._repr_svg_ = noted


_note()
del _note

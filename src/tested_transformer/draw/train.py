"""Pictures of training."""

from collections.abc import Mapping, Sequence
from typing import Any

from tested_transformer.draw.picture import KEY, QUERY, Picture, picture, styled


@styled
def curves(rows: Sequence[Mapping[str, Any]]) -> Picture:
    """Loss against step: training, and validation as points."""
    figure, ((axes,),) = picture(7, 3.4)
    for name, colour, mark, label in (
        ("loss", QUERY, "-", "training"),
        ("valid_loss", KEY, "o", "validation"),
    ):
        found = [(row["step"], row[name]) for row in rows if name in row]
        if found:
            axes.plot(*zip(*found, strict=True), mark, color=colour, label=label)
    axes.set_xlabel("step")
    axes.set_ylabel("loss for each token (nats)")
    axes.legend()
    return figure

"""The picture of a run: how its losses fell."""

import io
from collections.abc import Sequence

from tested_transformer.training.events import Event, Step, Validation


def curves(events: Sequence[Event]) -> bytes:
    """The loss against the step as a PNG: training as a line, validation as points.

    It needs matplotlib, which is loaded only here.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.4), dpi=150, layout="constrained")
    axes = figure.subplots()
    for kind, mark, label in ((Step, "-", "training"), (Validation, "o", "validation")):
        found = [(event.step, event.loss) for event in events if type(event) is kind]
        if found:
            axes.plot(*zip(*found, strict=True), mark, label=label)
    axes.set(xlabel="step", ylabel="loss for each token (nats)")
    axes.spines[["top", "right"]].set_visible(False)
    if axes.lines:
        axes.legend(frameon=False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    return drawn.getvalue()

"""What serves the chapters only: their figures, what displays source and sums, exercises, the running example."""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    wanted = "pip install 'tested-transformer[chapters]'"
    raise ModuleNotFoundError(
        f"the chapters need matplotlib: {wanted}", name="matplotlib"
    )

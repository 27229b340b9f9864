"""Every figure of the book. A drawing takes arrays and returns a picture; it computes nothing."""

import importlib
import pkgutil

try:
    import matplotlib as matplotlib
except ModuleNotFoundError:
    needed = "matplotlib: pip install 'tested-transformer[chapters]'"
    error = f"the figures need {needed}"
    raise ModuleNotFoundError(error, name="matplotlib") from None

for _module in pkgutil.iter_modules(__path__):  # so that draw.heads is there
    importlib.import_module(f"{__name__}.{_module.name}")

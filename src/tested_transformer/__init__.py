"""The Tested Transformer: the architecture of "Attention Is All You Need", from scratch, with every number checked."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "BASE",
    "BIG",
    "BytePairEncoding",
    "Config",
    "Options",
    "Trainer",
    "Transformer",
    "Translator",
    "__version__",
    "from_torch",
    "load",
    "save",
    "to_torch",
]

# Importing the package loads none of it, and no torch: a name is fetched when it is asked for. Type checkers, which
# run nothing, see the imports.
_HOME = {
    "BASE": "config",
    "BIG": "config",
    "Config": "config",
    "from_torch": "exchange",
    "to_torch": "exchange",
    "Transformer": "model.transformer",
    "BytePairEncoding": "text.tokens",
    "Options": "training.options",
    "Trainer": "training.train",
    "load": "training.checkpoint",
    "save": "training.checkpoint",
    "Translator": "decoding.translator",
}

if TYPE_CHECKING:
    from tested_transformer.config import BASE, BIG, Config
    from tested_transformer.decoding.translator import Translator
    from tested_transformer.exchange import from_torch, to_torch
    from tested_transformer.model.transformer import Transformer
    from tested_transformer.text.tokens import BytePairEncoding
    from tested_transformer.training.checkpoint import load, save
    from tested_transformer.training.options import Options
    from tested_transformer.training.train import Trainer
else:

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

"""The Tested Transformer: the architecture of "Attention Is All You Need", from scratch, with every number checked."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "BASE",
    "BERT_BASE",
    "BIG",
    "GPT_2",
    "ROBERTA_BASE",
    "VIT_BASE",
    "Bert",
    "BytePairEncoding",
    "Classifier",
    "Config",
    "Conversation",
    "Decoder",
    "Encoder",
    "Gpt",
    "Llama",
    "LlamaConfig",
    "Marian",
    "MaskedLM",
    "MultiHeadAttention",
    "Options",
    "Pretraining",
    "SentenceBert",
    "Trainer",
    "Transformer",
    "Translator",
    "VisionTransformer",
    "WordPiece",
    "__version__",
    "beam",
    "from_huggingface",
    "from_torch",
    "greedy",
    "load",
    "load_published",
    "sample",
    "save",
    "to_huggingface",
    "to_torch",
]

# Importing the package loads none of it, and no torch: a name is fetched when it is asked for. Type checkers, which
# run nothing, see the imports.
_HOME = {
    "BASE": "config",
    "BIG": "config",
    "Config": "config",
    "BERT_BASE": "model.bert",
    "ROBERTA_BASE": "model.bert",
    "Bert": "model.bert",
    "Classifier": "model.bert",
    "Pretraining": "model.bert",
    "Decoder": "model.decoder",
    "Encoder": "model.encoder",
    "GPT_2": "model.gpt",
    "Gpt": "model.gpt",
    "MultiHeadAttention": "model.heads",
    "VIT_BASE": "model.patches",
    "VisionTransformer": "model.patches",
    "Transformer": "model.transformer",
    "from_huggingface": "exchange",
    "from_torch": "exchange",
    "to_torch": "exchange",
    "BytePairEncoding": "text.tokens",
    "WordPiece": "text.tokens",
    "load": "training.checkpoint",
    "save": "training.checkpoint",
    "Options": "training.options",
    "Trainer": "training.train",
    "beam": "decoding.beam",
    "greedy": "decoding.greedy",
    "sample": "decoding.sampling",
    "Translator": "decoding.translator",
    "Conversation": "decoding.conversation",
    "Llama": "model.llama",
    "LlamaConfig": "model.llama",
    "MaskedLM": "model.bert",
    "SentenceBert": "model.bert",
    "Marian": "model.marian",
    "load_published": "published.loading",
    "to_huggingface": "published.writing",
}

if TYPE_CHECKING:
    from tested_transformer.config import BASE, BIG, Config
    from tested_transformer.decoding.beam import beam
    from tested_transformer.decoding.conversation import Conversation
    from tested_transformer.decoding.greedy import greedy
    from tested_transformer.decoding.sampling import sample
    from tested_transformer.decoding.translator import Translator
    from tested_transformer.exchange import from_huggingface, from_torch, to_torch
    from tested_transformer.model.bert import (
        BERT_BASE,
        ROBERTA_BASE,
        Bert,
        Classifier,
        MaskedLM,
        Pretraining,
        SentenceBert,
    )
    from tested_transformer.model.decoder import Decoder
    from tested_transformer.model.encoder import Encoder
    from tested_transformer.model.gpt import GPT_2, Gpt
    from tested_transformer.model.heads import MultiHeadAttention
    from tested_transformer.model.llama import Llama, LlamaConfig
    from tested_transformer.model.marian import Marian
    from tested_transformer.model.patches import VIT_BASE, VisionTransformer
    from tested_transformer.model.transformer import Transformer
    from tested_transformer.published.loading import load_published
    from tested_transformer.published.writing import to_huggingface
    from tested_transformer.text.tokens import BytePairEncoding, WordPiece
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

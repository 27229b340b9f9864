"""Read a published model, weights and tokeniser, into one of this package's."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from tested_transformer import files
from tested_transformer.config import Config, SpecialIds
from tested_transformer.device import given_device
from tested_transformer.exchange import check_unwrapped, renamed
from tested_transformer.model.bert import Bert, SentenceBert
from tested_transformer.published.about import About
from tested_transformer.published.bert import BertFamily
from tested_transformer.published.folder import Folder, opened
from tested_transformer.published.gguf import MAGIC, GgufFile
from tested_transformer.published.gpt2 import Gpt2Family
from tested_transformer.published.llama import GgufLlama, LlamaFamily
from tested_transformer.text.tokenizer import Tokenizer
from tested_transformer.training.checkpoint import (
    DTYPES,
    check_shapes,
    check_sizes,
    with_room,
)

Model = TypeVar("Model", bound=nn.Module)


class Family(Protocol):
    """Models of one architecture: the names of their weights, and what they become."""

    def names(self, about: About) -> Mapping[str, str]:
        """Their names, and ours."""

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about, and these ids."""

    def model(self, config: Config, about: About, found: Collection[str]) -> nn.Module:
        """Our model of these sizes; found has the names of its weights, ours."""


class Weights(Protocol):
    """Tensors by their published names."""

    shapes: Mapping[str, tuple[int, ...]]

    def tensor(self, name: str) -> Tensor:
        """One of them."""


FAMILIES: dict[str, Family] = {
    "gpt2": Gpt2Family(),
    "bert": BertFamily(),
    "roberta": BertFamily(),
    "llama": LlamaFamily(),
}
"""By the name that a config.json, or a GGUF file, has for the architecture."""


def load_published(
    path: files.StrPath,
    device: torch.device | str = "cpu",
    kind: type[Model] = nn.Module,  # type: ignore[assignment]
    dtype: torch.dtype = torch.float32,
) -> tuple[Model, Tokenizer | None]:
    """A published model, in eval mode, and its tokeniser, or None if it has none.

    path is a folder as Hugging Face publishes it (config.json, safetensors and the files
    of a tokeniser), a zip of one, or a GGUF file. The architectures are GPT-2, BERT,
    RoBERTa and Llama; what becomes of one is a `Gpt`, a `Bert`, `MaskedLM`,
    `Pretraining`, `Classifier` or `SentenceBert`, or a `Llama`. With kind, it must be
    of that class. Names, shapes and sizes are checked before anything is made.
    """
    if dtype not in DTYPES:
        rule = f"must be one of {', '.join(map(str, DTYPES))}"
        raise ValueError(f"dtype ({dtype!r}) {rule}")
    path, device = Path(path), given_device(device)
    if not path.exists():
        raise FileNotFoundError(f"no such model: {path}")
    if path.is_dir():
        model, tokens = _from_folder(path, device, dtype)
    else:
        files.check_readable(path, "model")
        with open(path, "rb") as file:
            gguf = file.read(len(MAGIC)) == MAGIC
        model, tokens = (_from_gguf if gguf else _from_folder)(path, device, dtype)
    if not isinstance(model, kind):
        raise TypeError(f"{path} is a {type(model).__name__}, not a {kind.__name__}")
    return model.eval(), tokens


def _from_folder(
    path: Path, device: torch.device, dtype: torch.dtype
) -> tuple[Any, Tokenizer | None]:
    with opened(path) as folder:
        about = About(folder.json("config.json"), folder.path / "config.json")
        family = about.choice("model_type", FAMILIES)
        tokens, ids = read_tokens(folder, about)
        with folder.weights() as weights:
            model = _filled(family, about, ids, weights, device, dtype)
        return _for_sentences(model, folder), tokens


def _from_gguf(
    path: Path, device: torch.device, dtype: torch.dtype
) -> tuple[Any, Tokenizer | None]:
    file = GgufFile(path)
    architecture = About(file.fields, path).choice(
        "general.architecture", {"llama": GgufLlama}
    )
    weights = architecture(file)
    tokens, ids = gguf_tokens(file, weights.about)
    return _filled(
        FAMILIES["llama"], weights.about, ids, weights, device, dtype
    ), tokens


def _filled(
    family: Family,
    about: About,
    ids: SpecialIds,
    weights: Weights,
    device: torch.device,
    dtype: torch.dtype,
) -> nn.Module:
    """A model with these weights. Nothing is made before all names and shapes fit."""
    check_unwrapped(weights.shapes)
    source = Path(str(about.name))
    ours = _our_names(weights, family.names(about), source)
    shapes = {
        name: tuple(part.shape) for parts in ours.values() for name, part in parts
    }
    try:
        config = family.config(about, ids)
        check_sizes(config, shapes, source)
        with torch.device("meta"):
            model = family.model(config, about, shapes)
    except (RuntimeError, OverflowError, TypeError) as error:
        raise ValueError(f"{source} describes no model: {error}") from None
    check_shapes(model, shapes, source)
    model = with_room(model, device, dtype)
    room, filled = model.state_dict(), set[str]()
    for key, parts in ours.items():
        if not parts:
            continue
        tensor = weights.tensor(key)
        if tensor.dtype not in DTYPES:
            raise ValueError(
                f"{source}: {key} is stored as {tensor.dtype}; read are {', '.join(map(str, DTYPES))}"
            )
        if not tensor.isfinite().all():
            raise ValueError(f"{source}: {key} has numbers that are not finite")
        for (name, _), (_, part) in zip(
            parts, renamed(key, tensor, family.names(about)), strict=True
        ):
            if name in filled and not torch.equal(room[name], part.to(room[name])):
                raise ValueError(
                    f"{source}: {key} must be the same as {name}: ours has one"
                )
            room[name].copy_(part)
            filled.add(name)
    return model


def _our_names(
    weights: Weights, names: Mapping[str, str], source: Path
) -> dict[str, list[tuple[str, Tensor]]]:
    """For each published name ours, each with a tensor of its shape that takes no memory."""
    found = {
        key: renamed(key, torch.empty(shape, device="meta"), names)
        for key, shape in weights.shapes.items()
    }
    shapes: dict[str, torch.Size] = {}
    for key, parts in found.items():
        for name, part in parts:
            if shapes.setdefault(name, part.shape) != part.shape:
                raise ValueError(
                    f"{source}: {key} of shape {tuple(part.shape)} must be {tuple(shapes[name])}"
                )
    if all(
        name.startswith("bert.") for name in shapes
    ):  # a body that was saved with its head's name for it
        return {
            k: [(n.removeprefix("bert."), part) for n, part in parts]
            for k, parts in found.items()
        }
    return found


def _for_sentences(model: Any, folder: Folder) -> Any:
    """The model with the pooling that sentence-transformers wrote beside it, if any."""
    if not isinstance(model, Bert) or not folder.has("1_Pooling/config.json"):
        return model
    about = About(
        folder.json("1_Pooling/config.json"), folder.path / "1_Pooling/config.json"
    )
    chosen = [
        name
        for name in about.fields
        if name.startswith("pooling_mode_") and about.flag(name, False)
    ]
    if len(chosen) != 1 or chosen[0] not in POOLINGS:
        raise ValueError(
            f"{about.name}: {' and '.join(chosen) or 'no pooling'} is not known here"
        )
    normalised = folder.has("modules.json") and "Normalize" in folder.text(
        "modules.json"
    )
    most = None
    if folder.has("sentence_bert_config.json"):
        about = About(
            folder.json("sentence_bert_config.json"),
            folder.path / "sentence_bert_config.json",
        )
        most = (
            about.integer("max_seq_length", least=1)
            if "max_seq_length" in about
            else None
        )
    return SentenceBert(model, POOLINGS[chosen[0]], normalised, most)


POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}


def read_tokens(folder: Folder, about: About) -> tuple[Tokenizer | None, SpecialIds]:
    """The tokeniser in a folder."""
    ids = about_ids(about)
    return None, ids


def gguf_tokens(file: GgufFile, about: About) -> tuple[Tokenizer | None, SpecialIds]:
    """The tokeniser in a GGUF file."""
    return None, about_ids(about)


def about_ids(about: About) -> SpecialIds:
    """The special ids that a config names; where it names none, the one of the end."""
    found = {name: about.ids(f"{name}_token_id")[:1] for name in SpecialIds._fields}
    other = min({0, 1} - {*found["pad"]})
    eos = (found["eos"] or found["bos"] or (other,))[0]
    return SpecialIds(*(ids[0] if ids else eos for ids in found.values()))

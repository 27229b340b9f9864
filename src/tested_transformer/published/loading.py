"""Read a published model, weights and tokeniser, into one of this package's."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from tested_transformer import files
from tested_transformer.config import Config, SpecialIds
from tested_transformer.device import given_device
from tested_transformer.model.bert import Bert, SentenceBert
from tested_transformer.names import check_unwrapped, renamed
from tested_transformer.published.about import About, naming
from tested_transformer.published.bert import BertFamily
from tested_transformer.published.distilbert import DistilBertFamily
from tested_transformer.published.folder import (
    LENGTH,
    MODULES,
    POOLING,
    POOLINGS,
    Folder,
    opened,
)
from tested_transformer.published.gguf import MAGIC, GgufFile
from tested_transformer.published.gpt2 import Gpt2Family
from tested_transformer.published.llama import GgufLlama, LlamaFamily
from tested_transformer.published.marian import MarianFamily, check_sinusoids
from tested_transformer.published.qwen import QWEN_2, QWEN_3, QwenFamily
from tested_transformer.published.tokenisers import gguf_tokens, read_tokens
from tested_transformer.published.vit import VitFamily
from tested_transformer.text._published import Published
from tested_transformer.training.checkpoint import (
    DTYPES,
    body,
    check_shapes,
    check_sizes,
    with_room,
)

Model = TypeVar("Model", bound=nn.Module)


@runtime_checkable
class _Family(Protocol):
    """Models of one architecture: the names of their weights, and what they become."""

    def names(self, about: About) -> Mapping[str, str]:
        """Their names, and ours."""

    def config(self, about: About, ids: SpecialIds) -> Config:
        """The sizes in about, and these ids."""

    def model(self, config: Config, about: About, found: Collection[str]) -> nn.Module:
        """Our model of these sizes; found has the names of its weights, ours."""


@runtime_checkable
class _Weights(Protocol):
    """Tensors by their published names."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each, by its name."""

    def tensor(self, name: str) -> Tensor:
        """One of them."""


FAMILIES: dict[str, _Family] = {
    "gpt2": Gpt2Family(),
    "bert": BertFamily(),
    "roberta": BertFamily(),
    "xlm-roberta": BertFamily(),
    "distilbert": DistilBertFamily(),
    "vit": VitFamily(),
    "llama": LlamaFamily(),
    "qwen2": QwenFamily(QWEN_2),
    "qwen3": QwenFamily(QWEN_3),
    "marian": MarianFamily(),
}
"""By the name that a config.json, or a GGUF file, has for the architecture."""


def load_published(
    path: files.StrPath,
    device: torch.device | str = "cpu",
    kind: type[Model] = nn.Module,  # type: ignore[assignment]
    dtype: torch.dtype = torch.float32,
) -> tuple[Model, Published | None]:
    """A published model, in eval mode, and its tokeniser, or None if it has none.

    path is a folder as Hugging Face publishes it (config.json, safetensors and the files
    of a tokeniser), a zip of one, or a GGUF file. GPT-2 becomes a `Gpt`; BERT, RoBERTa,
    XLM-R and DistilBERT a `Bert` or `DistilBert`, or a `MaskedLM`, `Pretraining`,
    `Classifier` or `SentenceBert` on one; Llama, Qwen2 and Qwen3 a `Llama`, Marian
    (OPUS-MT) a `Marian`, and ViT a `VisionTransformer`. With kind, it must be of that
    class. Names, shapes and sizes are checked before anything is made. A model may have
    more rows than its tokeniser has tokens: a `Conversation` and the command `generate`
    never write those ids, which stand for no text, and `sample` takes them as
    suppress_tokens.
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
            begin = file.read(len(MAGIC))
        if begin != MAGIC and not begin.startswith(b"PK"):  # as every zip begins
            rule = "name a folder of Hugging Face's, a zip of one, or a GGUF file"
            raise ValueError(f"{path} is no model: {rule}")
        read = _from_gguf if begin == MAGIC else _from_folder
        model, tokens = read(path, device, dtype)
    if not isinstance(model, kind):
        raise TypeError(f"{path} is a {type(model).__name__}, not a {kind.__name__}")
    return model.eval(), tokens


def _from_folder(
    path: Path, device: torch.device, dtype: torch.dtype
) -> tuple[nn.Module, Published | None]:
    with opened(path) as folder:
        about = About(folder.json("config.json"), folder.path / "config.json")
        family = about.choice("model_type", FAMILIES)
        tokens, ids = read_tokens(folder, about)
        with folder.weights() as weights:
            model = _filled(family, about, ids, weights, device, dtype)
        _check_rows(model, tokens, path)
        return _for_sentences(model, folder), tokens


def _from_gguf(
    path: Path, device: torch.device, dtype: torch.dtype
) -> tuple[nn.Module, Published | None]:
    file = GgufFile(path)
    known = {"llama": GgufLlama}
    weights = About(file.fields, path).choice("general.architecture", known)(file)
    tokens, about = gguf_tokens(file), weights.about
    ids = tokens.special_ids
    model = _filled(FAMILIES["llama"], about, ids, weights, device, dtype)
    _check_rows(model, tokens, path)
    return model, tokens


def _filled(
    family: _Family,
    about: About,
    ids: SpecialIds,
    weights: _Weights,
    device: torch.device,
    dtype: torch.dtype,
) -> nn.Module:
    """A model with these weights. Nothing is made before all names and shapes fit."""
    source = Path(str(about.name))
    with naming(source):
        _check_names(weights.shapes)
        ours = _our_names(weights, family.names(about))
        shapes = {
            name: tuple(part.shape) for parts in ours.values() for name, part in parts
        }
        config = family.config(about, ids)
        check_sizes(config, shapes, source)
        with torch.device("meta"):
            model = family.model(config, about, shapes)
    try:
        check_shapes(model, shapes, source)
    except ValueError:
        if found := _wrong_field(family, about, ids, model, shapes):
            raise about.error(*found) from None
        raise
    model = with_room(model, device, dtype)
    room, filled = model.state_dict(), set[str]()
    for key, parts in ours.items():
        if not parts and not key.endswith(POSITIONS):
            continue
        tensor = weights.tensor(key)
        if tensor.dtype not in DTYPES:
            rule = f"read are {', '.join(map(str, DTYPES))}"
            raise ValueError(f"{source}: {key} is stored as {tensor.dtype}; {rule}")
        if not all(x.isfinite() for x in tensor.aminmax()):  # NaN is both
            raise ValueError(f"{source}: {key} has numbers that are not finite")
        if not parts:
            with naming(source):
                check_sinusoids(key, tensor)
        for (name, _), (_, part) in zip(
            parts, renamed(key, tensor, family.names(about)), strict=True
        ):
            if name in filled and not torch.equal(room[name], part.to(room[name])):
                rule = f"must be the same as {name}: ours has one"
                raise ValueError(f"{source}: {key} {rule}")
            room[name].copy_(part)
            filled.add(name)
    return model


def _wrong_field(
    family: _Family,
    about: About,
    ids: SpecialIds,
    model: nn.Module,
    shapes: Mapping[str, tuple[int, ...]],
) -> tuple[str, str] | None:
    """The one field that is wrong, if the weights would fit without it, and the rule."""
    pairs = [
        pair
        for name, tensor in model.state_dict().items()
        for pair in zip(tensor.shape, shapes.get(name, ()), strict=False)
        if pair[0] != pair[1]
    ]
    for told, found in dict.fromkeys(pairs):
        for key in [k for k, v in about.fields.items() if type(v) is int and v == told]:
            right = About(about.fields | {key: found}, about.name)
            with suppress(ValueError, TypeError), torch.device("meta"):
                made = family.model(family.config(right, ids), right, shapes)
                check_shapes(made, shapes, Path())
                return key, f"must be {found}, as the weights have it"
    return None


POSITIONS = "embed_positions.weight"
"""A table that is computed, and that some files have."""


def _our_names(
    weights: _Weights, names: Mapping[str, str]
) -> dict[str, list[tuple[str, Tensor]]]:
    """For each published name ours, each with a tensor of its shape that takes no memory."""
    found = {}
    for key, shape in weights.shapes.items():
        try:
            found[key] = renamed(key, torch.empty(()).expand(shape), names)
        except (RuntimeError, TypeError, ValueError, IndexError):
            raise ValueError(f"{key} has the shape {shape!r:.80}") from None
    shapes: dict[str, torch.Size] = {}
    for key, parts in found.items():
        for name, part in parts:
            if shapes.setdefault(name, part.shape) != part.shape:
                rule = f"must be {tuple(shapes[name])}"
                raise ValueError(f"{key} of shape {tuple(part.shape)} {rule}")
    if all(name.startswith("bert.") for name in shapes):  # a body out of a whole
        return {
            k: [(n.removeprefix("bert."), part) for n, part in parts]
            for k, parts in found.items()
        }
    return found


def _check_names(names: Iterable[str]) -> None:
    """Refuse names that no model has, and those of a model that something is around."""
    for name in names:
        if not name.isprintable() or len(name) > 200:
            raise ValueError(f"{name!r:.80} is no name of a weight")
    check_unwrapped(names)


def _check_rows(model: nn.Module, tokens: Published | None, path: Path) -> None:
    """Refuse a model without a row for each token; some have more, to be divisible."""
    rows = body(model).config.vocab_size
    if tokens is not None and tokens.vocab_size > rows:
        found = f"the tokeniser has {tokens.vocab_size} tokens, the model {rows}"
        raise ValueError(f"{path}: {found}")


def _for_sentences(model: Any, folder: Folder) -> Any:
    """The model with the pooling that sentence-transformers wrote beside it, if any."""
    if not isinstance(model, Bert) or not folder.has(POOLING):
        return model
    about = About(folder.json(POOLING), folder.path / POOLING)
    chosen = [
        name
        for name in about.fields
        if name.startswith("pooling_mode_") and about.flag(name, False)
    ]
    if len(chosen) != 1 or chosen[0] not in POOLINGS:
        raise ValueError(
            f"{about.name}: {' and '.join(chosen) or 'no pooling'} is not known here"
        )
    modules = folder.modules() or _PLAIN
    if modules not in (_PLAIN, [*_PLAIN, "Normalize"]):
        rule = "only Transformer, Pooling and Normalize are known here, in this order"
        raise ValueError(f"{folder.path / MODULES} has {modules!r:.80}: {rule}")
    most, pooling = None, POOLINGS[chosen[0]]
    if folder.has(LENGTH):
        about = About(folder.json(LENGTH), folder.path / LENGTH)
        if "max_seq_length" in about:
            most = about.integer("max_seq_length", least=1)
    with naming(folder.path / LENGTH):
        return SentenceBert(model, pooling, "Normalize" in modules, most)


_PLAIN = ["Transformer", "Pooling"]

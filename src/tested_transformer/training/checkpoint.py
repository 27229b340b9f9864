"""Models on disk: safetensors for the weights, JSON for the rest, nothing that runs."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from functools import reduce
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, overload

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from tested_transformer import files
from tested_transformer.checks import instance
from tested_transformer.config import Config
from tested_transformer.device import given_device
from tested_transformer.model.bert import (
    Bert,
    Classifier,
    DistilBert,
    MaskedLM,
    Pretraining,
    SentenceBert,
)
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama
from tested_transformer.model.marian import Marian
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.model.transformer import Transformer
from tested_transformer.text import tokenizer
from tested_transformer.text.tokenizer import Saved, Tokenizer
from tested_transformer.training.filenames import CONFIG, MODEL, TOKENS
from tested_transformer.training.int8 import SCALE, packed, unpacked
from tested_transformer.training.memory import class_of, gathered, like

OF_BERT = ("n_segments", "first_position", "pooled")
OF_SENTENCES = ("pooling", "normalised", "max_tokens")
MODELS: dict[type[nn.Module], tuple[str, ...]] = {
    Marian: (),
    Transformer: (),
    Llama: (),
    Gpt: (),
    Bert: OF_BERT,
    Pretraining: OF_BERT,
    MaskedLM: OF_BERT,
    SentenceBert: (*OF_BERT, *OF_SENTENCES),
    Classifier: (*OF_BERT, "n_classes"),
    VisionTransformer: ("size", "n_classes", "channels"),
}
"""The models that have files, and what they are made with besides a Config."""

ON_BERT = (Pretraining, MaskedLM, SentenceBert, Classifier)
"""Kinds that are built on a Bert, which has the config."""

MOST = 2**24
"""So many numbers a table of positions may have, or as many as all the weights: it is
made, not read, and a small file must not ask for a large one."""

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""What a model can compute in; other types on the disk are only for storage."""

FREE = {"dropout", "fused", "max_len"}
"""What may differ between a file and the model that it is loaded into."""

FOREIGN = ("model_type", "architectures", "hidden_size", "n_embd")
"""What is in the config.json of Hugging Face's models."""

Model = TypeVar("Model", bound=nn.Module)
Shape = TypeVar("Shape")


def save(
    folder: files.StrPath,
    model: nn.Module,
    tokens: Tokenizer | None = None,
    weights: Mapping[str, Tensor] | None = None,
    int8: bool = False,
) -> None:
    """Write config.json, model.safetensors and, if given, tokens.json into the folder.

    All of them or, where one cannot be written, none. weights, under the model's own
    names, are written in place of its own (an average). With int8 each number takes
    one byte in the file, and the model comes back `rounded` to that. What could not be
    read again is refused.
    """
    files.check_name(folder)
    folder = Path(folder)
    told = describe(model)
    weights = model.state_dict() if weights is None else weights
    check_weights(weights)
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    config = body(model).config
    check_sizes(config, shapes, folder / CONFIG)
    if "replaced" not in told:  # then it must be what `load` would make
        model = plain(model)
    check_shapes(model, shapes, folder / MODEL)
    contents, beside = {folder / CONFIG: files.to_json(told)}, {}
    if tokens is not None:
        check_tokens(tokens, config, folder / TOKENS)
        contents[folder / TOKENS] = token_file(tokens)
        beside = {"tokens": sha256(contents[folder / TOKENS]).hexdigest()}
    elif (folder / TOKENS).exists():
        rule = "give its tokens, or remove that file"
        raise ValueError(f"{folder / TOKENS} may belong to a different model: {rule}")
    written = packed(weights) if int8 else weights
    contents[folder / MODEL] = tensor_bytes(written, {}, beside)
    folder.mkdir(parents=True, exist_ok=True)
    files.write_all(contents)


@overload
def load(
    folder: files.StrPath,
    device: torch.device | str = "cpu",
    *,
    dtype: torch.dtype | None = None,
) -> tuple[Transformer, Saved | None]: ...
@overload
def load(
    folder: files.StrPath,
    device: torch.device | str,
    kind: type[Model],
    dtype: torch.dtype | None = None,
) -> tuple[Model, Saved | None]: ...
@overload
def load(
    folder: files.StrPath,
    device: torch.device | str = "cpu",
    *,
    kind: type[Model],
    dtype: torch.dtype | None = None,
) -> tuple[Model, Saved | None]: ...
def load(
    folder: files.StrPath,
    device: torch.device | str = "cpu",
    kind: type[nn.Module] = Transformer,
    dtype: torch.dtype | None = None,
) -> tuple[nn.Module, Saved | None]:
    """The model, in eval mode, and its tokeniser, which is None if none was saved.

    kind is one of the classes in MODELS. Without
    a dtype, the model gets the dtype of the weights, the widest if they have several; to
    train on from half precision, give torch.float32. Sizes are checked against the header
    of the weights before anything is made.
    """
    if dtype not in (None, *DTYPES):
        rule = f"must be one of {', '.join(map(str, DTYPES))}"
        raise ValueError(f"dtype ({dtype!r}) {rule}")
    folder, device = Path(folder), given_device(device)
    config, settings = read_description(folder / CONFIG, kind)
    path = folder / MODEL
    shapes = without_scales(read_shapes(path))
    check_sizes(config, shapes, folder / CONFIG)
    try:
        with torch.device("meta"):
            model = make(kind, config, settings)
    except (RuntimeError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / CONFIG} describes no model: {error}") from None
    check_shapes(model, shapes, path)
    tokens, weights = load_tokens(folder, config), read_weights(path)
    model = with_room(model, device, dtype or widest(weights))
    load_weights(model, weights, path)
    return model.eval(), tokens


def with_room(model: Model, device: torch.device, dtype: torch.dtype) -> Model:
    """The model, made on the meta device, with room for numbers.

    This is what model.to_empty does; that loads a computer algebra first.
    """
    return model._apply(  # type: ignore[no-untyped-call] # PyTorch's has no types
        lambda t: torch.empty(t.shape, dtype=dtype, device=device)
    )


def widest(weights: Mapping[str, Tensor]) -> torch.dtype:
    """The dtype of a model that loses nothing of any of these weights."""
    found = {w.dtype if w.dtype in DTYPES else torch.float32 for w in weights.values()}
    return reduce(torch.promote_types, found)


def load_into(folder: files.StrPath, model: Model) -> Model:
    """The model that was given, with the weights in the folder, in eval mode.

    For models with modules of their own: `load` knows only how to make plain ones.
    """
    path = Path(folder) / MODEL
    about = path.with_name(CONFIG)
    check_same(files.read_json(about, "checkpoint"), describe(model), about)
    load_weights(model, read_weights(path), path)
    return model.eval()


def unsharded(model: Model) -> Model:
    """A plain copy of a model in shards, in eval mode: to write with, for example.

    All processes call this at once, and each holds the whole then.
    """
    weights = gathered(model.state_dict())
    if "replaced" in describe(model):
        rule = "has modules of its own: save it, and give a new one to load_into"
        raise TypeError(f"the model ({class_of(model).__name__}) {rule}")
    own = next(model.parameters())
    made: Any = with_room(plain(model), own.device, own.dtype)
    made.load_state_dict(weights)
    return made.eval()


def read_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a model, also from a file that has a byte for each number."""
    tensors, _ = read_tensors(path)
    try:
        return unpacked(tensors)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def without_scales(shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """The shapes of the weights, where the scales of int8 are between them."""
    scales = {name + SCALE for name in shapes}
    return {name: shape for name, shape in shapes.items() if name not in scales}


def load_tokens(folder: Path, config: Config) -> Saved | None:
    """The tokeniser in the folder, if it is the one that the model was saved with."""
    path = folder / TOKENS
    with opened(folder / MODEL) as file:
        wanted = (file.metadata() or {}).get("tokens")
    if not path.exists():
        if wanted:
            raise FileNotFoundError(
                f"{path} is missing, which the model was saved with"
            )
        return None
    files.check_readable(path, "saved tokeniser")
    if wanted and sha256(path.read_bytes()).hexdigest() != wanted:
        raise ValueError(f"{path} is not the one that the model was saved with")
    tokens = tokenizer.load(path)
    check_tokens(tokens, config, path)
    return tokens


def make(
    kind: type[nn.Module], config: Config, settings: Mapping[str, Any]
) -> nn.Module:
    """A model of that kind. If it is built on a Bert, it gets a Bert of these sizes.

    Without segments, a Bert is a `DistilBert`.
    """
    bert = DistilBert if settings.get("n_segments") == 0 else Bert
    if kind is Bert:
        return bert(config, **settings)
    if kind not in ON_BERT:
        return kind(config, **settings)
    body = bert(config, **{name: settings[name] for name in OF_BERT})
    return kind(body, **{n: v for n, v in settings.items() if n not in OF_BERT})


def body(model: nn.Module) -> Any:
    """The model that has the config: for a model built on a Bert, the Bert."""
    return model.bert if isinstance(model, ON_BERT) else model


def kind_of(model: nn.Module) -> tuple[type[nn.Module], dict[str, Any]]:
    """The kind of a model, and what it was made with besides a Config."""
    kind = next((kind for kind in MODELS if isinstance(model, kind)), None)
    if kind is None:
        names = ", ".join(kind.__name__ for kind in MODELS)
        raise TypeError(f"{type(model).__name__} cannot be saved; these can: {names}")
    found = {
        n: getattr(body(model) if n in OF_BERT else model, n, None)
        for n in MODELS[kind]
    }
    if kind is Classifier:  # somebody's own head has perhaps no number of classes
        found["n_classes"] = getattr(model.head, "out_features", 2)
    return kind, found


def plain(model: nn.Module) -> nn.Module:
    """A model of the same kind and sizes without numbers, which takes no memory."""
    kind, settings = kind_of(model)
    with torch.device("meta"):
        return make(kind, body(model).config, settings)


def describe(model: nn.Module) -> dict[str, Any]:
    """What config.json says about a model: its kind, sizes, settings, own modules."""
    kind, settings = kind_of(model)
    named = {} if kind is Transformer else {"model": kind.__name__}
    made = {n: type(m) for n, m in plain(model).named_modules()}
    config, found = body(model).config, dict(model.named_modules())
    own = [n or "the model" for n, m in found.items() if made.get(n) is not class_of(m)]
    if own:
        kept = [(n, m, s) for n, m in found.items() for s in getattr(m, "settings", ())]
        beside = {f"{n}.{s}": getattr(m, s) for n, m, s in kept}
        more = {"replaced": own, "settings": beside}
        return named | asdict(config) | settings | more
    if type(config) is not config_class(kind):
        rule = f"must be a {config_class(kind).__name__}, or it could not be read again"
        raise TypeError(
            f"the config of a {kind.__name__} ({type(config).__name__}) {rule}"
        )
    return named | asdict(config) | settings


def config_class(kind: type[nn.Module]) -> type[Config]:
    """The class of the sizes and settings of a kind of model."""
    return getattr(kind, "config_class", Config)


def check_same(saved: Mapping[str, Any], own: Mapping[str, Any], path: Path) -> None:
    """Refuse a model that would compute something else with the same weights."""
    for name in sorted({*saved, *own} - FREE):
        if saved.get(name) != own.get(name):
            found = f"{saved.get(name)!r}, the model {own.get(name)!r}"
            raise ValueError(f"{path} has another {name}: {found}")


def read_description(
    path: Path, kind: type[nn.Module] = Transformer
) -> tuple[Config, dict[str, Any]]:
    """The Config in a JSON file, and the settings that this kind of model has besides.

    A ValueError says what is wrong with the file.
    """
    if kind not in MODELS:
        names = ", ".join(kind.__name__ for kind in MODELS)
        raise TypeError(f"kind ({kind!r}) must be one of {names}")
    saved = files.read_json(path, "checkpoint")
    if foreign := [name for name in FOREIGN if name in saved]:
        rule = "a folder of Hugging Face's is read by load_published"
        raise ValueError(f"{path} is of another library, it has {foreign[0]}: {rule}")
    found = saved.pop("model", Transformer.__name__)
    if found != kind.__name__:
        rule = f"its model is {found!r}, not {kind.__name__!r}"
        error = ValueError(f"{path} is of another kind: {rule}")
        if found in [each.__name__ for each in MODELS]:
            error.add_note(f"give kind={found}")  # a command has no such option
        raise error
    if (replaced := saved.pop("replaced", None)) is not None:
        first = replaced[0] if isinstance(replaced, list) and replaced else replaced
        rule = f"such as {first}: make it, and give it to load_into"
        raise ValueError(f"{path} is of a model with modules of its own, {rule}")
    if "pooled" in MODELS[kind]:
        saved.setdefault("pooled", True)  # files of before it could be False
    lacking = sorted({"vocab_size", *MODELS[kind]} - saved.keys())
    if lacking:
        raise ValueError(f"{path} lacks {', '.join(lacking)}")
    settings = {name: saved.pop(name) for name in MODELS[kind]}
    made = config_class(kind)
    unknown = sorted(set(saved) - {field.name for field in fields(made)})
    if unknown:
        rule = f"fields that no {made.__name__} has"
        raise ValueError(f"{path} has {rule}: {', '.join(unknown)}")
    try:
        return made(**saved), settings
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is no config: {error}") from None


def token_file(tokens: Tokenizer) -> bytes:
    """The file of a tokeniser. One that could not be loaded again is a TypeError."""
    known = type(tokens) in tokenizer.KINDS.values()
    if not known or not isinstance(tokens, Saved):
        names = ", ".join(tokenizer.KINDS)
        rule = f"cannot be loaded again; these can: {names}"
        raise TypeError(f"a tokeniser of the class {type(tokens).__name__} {rule}")
    return tokens.to_json()


def check_weights(weights: Mapping[str, Any]) -> None:
    """Refuse to save what no model could be loaded from: a quantized one has such."""
    for name, tensor in weights.items():
        if not (isinstance(tensor, Tensor) and tensor.is_floating_point()):
            found = tensor.dtype if isinstance(tensor, Tensor) else type(tensor)
            rule = "must be a tensor of floats: save a model before it is quantized"
            raise TypeError(f"{name} ({found}) {rule}")
        if hasattr(tensor, "full_tensor"):
            raise TypeError(f"{name} is in shards: save what `unsharded` gives")


def check_tokens(tokens: Tokenizer, config: Config, name: object) -> None:
    """A tokeniser and a model must mean the same by an id."""
    instance(Tokenizer, tokens=tokens)
    rule = f"{name} does not belong to the model: it has"
    if tokens.vocab_size != config.vocab_size:
        sizes = f"{tokens.vocab_size} tokens, the model {config.vocab_size}"
        raise ValueError(f"{rule} {sizes}")
    if tokens.special_ids != config.special_ids:
        ids = f"{tokens.special_ids}, the model {config.special_ids}"
        raise ValueError(f"{rule} {ids}")


def check_sizes(
    config: Config, shapes: Mapping[str, Sequence[int]], path: Path
) -> None:
    """Refuse sizes that would take long to build, and that the weights do not have."""
    layers = {name.partition(".layers.")[2].split(".")[0] for name in shapes} - {""}
    if config.n_layers != len(layers):
        found = f"n_layers ({config.n_layers}), but the weights have {len(layers)}"
        raise ValueError(f"{path} says {found}")
    most = max(MOST, sum(math.prod(shape) for shape in shapes.values()))
    if config.max_len * config.d_model > most:
        sizes = f"max_len ({config.max_len}) times d_model ({config.d_model})"
        raise ValueError(f"{path}: {sizes} must be at most {most}")


def check_shapes(
    model: nn.Module, shapes: Mapping[str, Sequence[int]], path: Path
) -> None:
    """A ValueError names what the file lacks, what is foreign in it, or unlike."""
    own = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    wrong = [f"{name} is missing" for name in own.keys() - shapes.keys()]
    wrong += [f"{name} is foreign" for name in shapes.keys() - own.keys()]
    for name in own.keys() & shapes.keys():
        if tuple(shapes[name]) != own[name]:
            found = f"{tuple(shapes[name])}, the model {own[name]}"
            wrong.append(f"{name} has shape {found}")
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        listed = "; ".join(sorted(wrong)[:3])
        raise ValueError(f"{path} does not fit its config: {listed}{more}")


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy tensors into the model; a ValueError names what is missing or unlike."""
    check_shapes(model, {name: t.shape for name, t in tensors.items()}, path)
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise ValueError(f"{path}: {name} holds no numbers but {tensor.dtype}")
    own = model.state_dict()
    model.load_state_dict({name: like(t, own[name]) for name, t in tensors.items()})


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any]
) -> None:
    """Tensors, with a few numbers and words beside them, as one safetensors file."""
    files.write(path, tensor_bytes(tensors, state))


def tensor_bytes(
    tensors: Mapping[str, Tensor],
    state: Mapping[str, Any],
    beside: Mapping[str, str] | None = None,
) -> bytes:
    """What `write_tensors` writes: a checksum of everything is in it, too."""
    plain, places = {}, set()
    for name, tensor in tensors.items():
        here = tensor.detach().cpu().contiguous()
        # The format knows no memory that two tensors share
        plain[name] = here.clone() if here.data_ptr() in places else here
        places.add(here.data_ptr())
    told = json.dumps(state)
    more = {"state": told, "sha256": checksum(plain, told)} | dict(beside or {})
    return to_bytes(plain, more)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote. A damaged or foreign file raises a ValueError.

    A file without a checksum, made by other programs, is taken as it is.
    """
    with opened(path) as file:
        metadata = file.metadata() or {}
        told = metadata.get("state", "{}")
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if metadata.get("sha256", found := checksum(tensors, told)) != found:
        rule = "its checksum belongs to different content"
        raise ValueError(f"{path} is damaged or was changed: {rule}")
    try:
        state = json.loads(told)
    except (ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        raise ValueError(f"{path} holds no state of a run but {told[:20]!r}")
    return tensors, state


def read_shapes(path: Path) -> dict[str, list[int]]:
    """The shape of each tensor in the file; only its header is read."""
    with opened(path) as file:
        return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file; what is wrong with it is told with its name."""
    files.check_name(path)
    files.check_readable(path, "checkpoint")  # safe_open says "no such file" to all
    try:
        with safe_open(path, "pt") as file:
            yield file
    except (SafetensorError, ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged or no safetensors file: {error}") from None


def checksum(tensors: Mapping[str, Tensor], told: str) -> str:
    """SHA-256 of names, types, shapes and numbers, and of what is told beside them."""
    digest = sha256(told.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()

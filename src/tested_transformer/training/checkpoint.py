"""Models on disk: safetensors for the weights, JSON for the rest, nothing that runs."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from tested_transformer.config import Config
from tested_transformer.files import read_json, write, write_json
from tested_transformer.model.transformer import Transformer
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training.filenames import CONFIG, MODEL, TOKENS


def save(
    folder: str | os.PathLike[str],
    model: Transformer,
    tokens: BytePairEncoding | None = None,
    weights: Mapping[str, Tensor] | None = None,
) -> None:
    """Write config.json, model.safetensors and, if given, tokens.json into the folder.

    weights, under the model's own names, are written in place of its own (an average).
    """
    folder = Path(folder)
    if tokens is not None:
        check_tokens(tokens, model.config, folder / TOKENS)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / CONFIG, asdict(model.config))
    if tokens is not None:
        tokens.save(folder / TOKENS)
    write_tensors(folder / MODEL, weights or model.state_dict(), {})


def load(
    folder: str | os.PathLike[str], device: torch.device | str = "cpu"
) -> tuple[Transformer, BytePairEncoding | None]:
    """The model, in eval mode, and its tokeniser, which is None if none was saved."""
    folder = Path(folder)
    with torch.device("meta"):
        model = Transformer(load_config(folder / CONFIG))
    model.to_empty(device=device)
    tensors, _ = read_tensors(folder / MODEL)
    load_weights(model, tensors, folder / MODEL)
    tokens = folder / TOKENS
    loaded = BytePairEncoding.load(tokens) if tokens.exists() else None
    if loaded is not None:
        check_tokens(loaded, model.config, tokens)
    return model.eval(), loaded


def check_tokens(tokens: BytePairEncoding, config: Config, name: object) -> None:
    """A tokeniser and a model must mean the same by an id."""
    rule = f"{name} does not belong to the model: it has"
    if tokens.vocab_size > config.vocab_size:
        sizes = f"{tokens.vocab_size} tokens, the model {config.vocab_size}"
        raise ValueError(f"{rule} {sizes}")
    if tokens.special_ids != config.special_ids:
        ids = f"{tokens.special_ids}, the model {config.special_ids}"
        raise ValueError(f"{rule} {ids}")


def load_config(path: Path) -> Config:
    """The Config in a JSON file. A ValueError says what is wrong with the file."""
    saved = read_json(path, "checkpoint")
    unknown = sorted(set(saved) - {field.name for field in fields(Config)})
    if unknown:
        raise ValueError(f"{path} has fields that no Config has: {', '.join(unknown)}")
    try:
        return Config(**saved)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is no config: {error}") from None


def load_weights(model: Transformer, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy tensors into the model; a ValueError names what is missing or unlike."""
    own = model.state_dict()
    wrong = [f"{name} is missing" for name in own.keys() - tensors.keys()]
    wrong += [f"{name} is foreign" for name in tensors.keys() - own.keys()]
    for name in own.keys() & tensors.keys():
        found, wanted = tuple(tensors[name].shape), tuple(own[name].shape)
        if found != wanted:
            wrong.append(f"{name} has shape {found}, the model {wanted}")
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        listed = "; ".join(sorted(wrong)[:3])
        raise ValueError(f"{path} does not fit its config: {listed}{more}")
    model.load_state_dict(dict(tensors))


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any]
) -> None:
    """Tensors, with a few numbers and words beside them, as one safetensors file."""
    # Copies stand by themselves: the format knows no memory that two tensors share.
    plain = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    write(path, to_bytes(plain, {"state": json.dumps(state)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote. A damaged or foreign file raises a ValueError."""
    try:
        with safe_open(path, "pt") as file:
            state = json.loads((file.metadata() or {}).get("state", "{}"))
            names = file.keys()
            return {name: file.get_tensor(name) for name in names}, state
    except FileNotFoundError:
        raise FileNotFoundError(f"no such checkpoint: {path}") from None
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} is damaged or no safetensors file: {error}") from None

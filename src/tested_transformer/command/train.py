"""The command `train`: from sentence pairs to a trained model in a folder."""

import argparse
from dataclasses import asdict, fields
from math import inf
from pathlib import Path
from typing import Any

import torch

from tested_transformer.command import arguments as shared
from tested_transformer.config import BASE, BIG, Config
from tested_transformer.data import multi30k
from tested_transformer.data.parallel import Encoded, encode_pairs, read_parallel
from tested_transformer.files import read_json, sweep, write, write_json
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook import corpus
from tested_transformer.text import tokenizer
from tested_transformer.text.tokenizer import Tokenizer
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.curves import curves
from tested_transformer.training.distributed import join
from tested_transformer.training.filenames import (
    CONFIG,
    CURVES,
    RUN,
    STATE,
    TOKENS,
    check_free,
)
from tested_transformer.training.log import RunLog
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

SMALL = BASE.replace(vocab_size=8000, d_model=256, d_ff=1024, n_layers=3)
MINI = SMALL.replace(d_model=128, d_ff=256, n_heads=4, n_layers=4, dropout=0.2)
PRESETS: dict[str, tuple[Config, dict[str, Any]]] = {
    "mini": (MINI, {"warmup": 800, "rate_scale": 0.8, "batch_tokens": 1300}),
    "small": (SMALL, {"warmup": 2000, "batch_tokens": 2000}),
    "base": (BASE, {"batch_tokens": 25_000}),
    "big": (BIG, {"batch_tokens": 25_000}),
}
"""Sizes, with settings that suit them; the last two are the paper's."""

HELP = {
    "d_model": "width of the vectors",
    "d_ff": "width inside the feed-forward network",
    "n_heads": "heads of each attention",
    "n_layers": "layers of the encoder, and again of the decoder",
    "max_len": "most tokens of a sentence; longer pairs are left out",
    "steps": "stop after so many steps",
    "epochs": "stop after so many passes through the pairs",
    "minutes": "stop after so many minutes",
    "patience": "stop after so many validations that brought nothing better",
    "batch_tokens": "target tokens of a batch, about",
    "accumulate": "batches of each process that make one step",
    "warmup": "steps in which the learning rate rises",
    "rate_scale": "the learning rate, as a multiple of the paper's",
    "cooldown": "last steps, in which the rate falls to zero; needs --steps",
    "smoothing": "label smoothing",
    "ema": "decay of the moving average of the weights; 0 for none",
    "keep": "epoch ends whose mean is tried at the end",
    "save_every": "steps between two saves",
    "precision": "float32, or bfloat16 on a GPU",
    "seed": "another number gives another order and another start",
}
"""What the options mean that fields of `Config` and `Options` have names for."""

Texts = list[tuple[str, str]]
FILES = ("source", "target", "valid_source", "valid_target")
SIZES = ("d_model", "d_ff", "n_heads", "n_layers", "max_len", "dropout", "norm_first")
NONE_YET = "no epoch has ended, so there is no best model yet"


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    add.add_argument("folder", type=Path, help="where the run is kept")
    add.add_argument("--resume", action="store_true", help="go on with the run there")
    data = shared.add_pairs(add)
    data.add_argument("--valid-source", type=Path, help="held out (else 1 in 50 is)")
    data.add_argument("--valid-target", type=Path, help="their translations")
    data.add_argument(
        "--phrasebook", type=int, nargs="?", const=20_000, metavar="PAIRS",
        help="this book's own; 20000 pairs unless another number is given",
    )  # fmt: skip
    model = add.add_argument_group("the model")
    model.add_argument(
        "--preset", choices=PRESETS, help="sizes to begin from (else mini)"
    )
    model.add_argument(
        "--init", type=Path, metavar="FOLDER",
        help="a trained model to begin from, with its sizes and its tokens",
    )  # fmt: skip
    for name in SIZES[:5]:
        model.add_argument(flag(name), type=int, metavar="int", help=HELP[name])
    model.add_argument(
        "--dropout", type=float, metavar="float", help="in training only"
    )
    model.add_argument(
        "--norm-first", action="store_true", default=None,
        help="norms before the sub-layers; the paper has them behind",
    )  # fmt: skip
    model.add_argument(
        "--merges", type=int, metavar="int",
        help="pairs that the tokeniser joins at most (else 8000)",
    )  # fmt: skip
    how = add.add_argument_group("training")
    for field in fields(Options):
        kind = {"precision": str, "seed": int}.get(field.name) or (
            float if "float" in str(field.type) else int
        )
        what = {"type": kind, "metavar": kind.__name__, "help": HELP[field.name]}
        how.add_argument(flag(field.name), **what)
    how.add_argument("--device", **shared.DEVICE)


def flag(name: str) -> str:
    """How a field is called on the command line."""
    return "--" + name.replace("_", "-")


def train(given: argparse.Namespace) -> None:
    """Train, or go on training; with `torchrun`, in several processes."""
    with join(given.device) as world:
        run = resumed(given) if given.resume else begun(given)
        train_texts, valid_texts = read_texts(run["data"])
        tokens = find_tokens(given, run, train_texts)
        config = run["config"].replace(vocab_size=tokens.vocab_size)
        torch.manual_seed(run["options"].seed)
        model = Transformer(config)
        encoded = encode_pairs(train_texts, tokens, config.max_len)
        valid = encode_pairs(valid_texts, tokens, config.max_len)
        for name, part in (("training", encoded), ("validation", valid)):
            if not part.pairs:
                raise ValueError(f"no {name} pair is left: {left_out(part, config)}")
        if run["init"] and not given.resume:
            checkpoint.load_into(run["init"], model)
        pairs = encoded.pairs, valid.pairs
        folder = given.folder
        trainer = Trainer(model, run["options"], *pairs, folder, world, tokens=tokens)
        with trainer.writing():
            if given.resume:
                trainer.resume()
            elif not world.rank:
                check_free(folder)
                write_json(folder / RUN, to_json(run))
            if world.rank:
                trainer.run()
            else:
                sweep(folder)
                watch(trainer, encoded, config, folder)


def watch(trainer: Trainer, encoded: Encoded, config: Config, folder: Path) -> None:
    """Train, and tell how it goes: bar, log, numbers, curves."""
    options, progress = trainer.options, trainer.progress
    log = RunLog(folder, progress.step, options.steps)
    trainer.report = log
    size = sum(parameter.numel() for parameter in trainer.model.parameters())
    log.write(f"{len(encoded.pairs):,} pairs; {left_out(encoded, config)}")
    log.write(f"{size:,} parameters on {trainer.world.device}")
    try:
        progress = trainer.run()
        try:
            write(folder / CURVES, curves(log.events))
        except ModuleNotFoundError as error:
            log.write(f"no {CURVES}: {error}")
        ended = "stopped" if trainer.asked_to_stop else "finished"
        log.write(
            f"{ended} after step {progress.step}, {progress.seconds / 60:.1f} min"
        )
        again = f"python -m tested_transformer train {folder} --resume"
        found = f"the best model is {folder}" if progress.best < inf else NONE_YET
        log.write(f"{found}; go on with: {again}")
    finally:
        log.close()


def begun(given: argparse.Namespace) -> dict[str, Any]:
    """A new run: data, sizes and options from the command line."""
    check_free(given.folder)
    preset = given.preset or "mini"
    config, settings = PRESETS[preset]
    changes = {n: v for n in SIZES if (v := getattr(given, n)) is not None}
    init, merges = given.init, 8000 if given.merges is None else given.merges
    if init:
        config, merges = checkpoint.read_description(init / CONFIG)[0], None
        for name in (*changes, *(["merges"] if given.merges is not None else [])):
            if name != "dropout":
                raise ValueError(
                    f"{flag(name)} is that of the model in {init}: leave it out"
                )
    asked = {field.name: getattr(given, field.name) for field in fields(Options)}
    options = Options(**settings | {n: v for n, v in asked.items() if v is not None})
    options.check_limits()
    return {
        "data": chosen(given),
        "init": str(init.resolve()) if init else None,
        "preset": preset,
        "merges": merges,
        "config": config.replace(**changes),
        "options": options,
    }


def resumed(given: argparse.Namespace) -> dict[str, Any]:
    """The run in the folder, with other limits if the command line names some.

    Everything else that is said must be as it was said at the start.
    """
    run = read_run(given.folder / RUN)
    if not (given.folder / STATE).exists():
        rule = "start it again, without --resume"
        raise ValueError(f"the run in {given.folder} never began ({STATE}): {rule}")
    began = {n: v for n, v in run.items() if n in ("init", "preset", "merges")}
    began |= run["data"] | asdict(run["config"]) | asdict(run["options"])
    free = {"folder", "resume", "device", "command"}
    changes = {}
    for name, value in vars(given).items():
        if value is None or name in free:
            continue
        value = str(value.resolve()) if isinstance(value, Path) else value
        if name in run["options"].changeable():
            changes[name] = value
        elif began.get(name) != value:
            found = f"it was {began.get(name)!r}, now {value!r}"
            raise ValueError(f"{flag(name)} cannot change when a run goes on: {found}")
    options = Options.from_dict(asdict(run["options"]) | changes)
    return run | {"options": options}


def to_json(run: dict[str, Any]) -> dict[str, Any]:
    """What run.json holds."""
    return run | {"config": asdict(run["config"]), "options": asdict(run["options"])}


def read_run(path: Path) -> dict[str, Any]:
    """What `to_json` made; a ValueError says what else the file is."""
    run = {"init": None, "preset": None, "merges": None} | read_json(path, "run")
    try:
        for name in ("data", "config", "options"):
            if not isinstance(run.get(name), dict):
                raise TypeError(f"{name} ({run.get(name)!r}) must be an object")
        data = run["data"]
        kinds = {"phrasebook": int} | dict.fromkeys(("multi30k", *FILES), str)
        for name, value in data.items():
            if type(value) is not kinds.get(name):
                raise TypeError(f"data has {name!r}: {value!r}")
        if not data.keys() & {"phrasebook", "multi30k"} and not data.keys() >= {
            *FILES[:2]
        }:
            raise TypeError(f"data ({data!r}) must name sentence pairs")
        options = Options.from_dict(run["options"])
        return run | {"config": Config(**run["config"]), "options": options}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is no run: {error}") from None


def chosen(given: argparse.Namespace) -> dict[str, Any]:
    """Which sentence pairs, in a form that --resume finds again."""
    shared.check_pairs(given)
    data = {}
    for one, other in (FILES[:2], FILES[2:]):
        paths = getattr(given, one), getattr(given, other)
        if (paths[0] is None) != (paths[1] is None):
            raise ValueError(f"{flag(one)} and {flag(other)} belong together")
        if paths[0] is not None:
            data |= {one: str(paths[0].resolve()), other: str(paths[1].resolve())}
    if data and not given.source:
        raise ValueError("--valid-source needs --source: other pairs have their own")
    if given.phrasebook is not None:
        return {"phrasebook": given.phrasebook}
    if given.multi30k:
        return {"multi30k": str(given.multi30k.resolve())}
    return data


def read_texts(data: dict[str, Any]) -> tuple[Texts, Texts]:
    """The pairs to train and to validate on."""
    if "phrasebook" in data:
        train, valid, _ = corpus.split(data["phrasebook"])
        return [s[:2] for s in train], [s[:2] for s in valid]
    if "multi30k" in data:
        folder = data["multi30k"]
        return multi30k.read(folder, "train"), multi30k.read(folder, "val")
    texts = read_parallel(data["source"], data["target"])
    if "valid_source" in data:
        return texts, read_parallel(data["valid_source"], data["valid_target"])
    if len(texts) < 2:
        raise ValueError(f"{data['source']} has {len(texts)} lines; 2 are needed")
    held = set(range(0, len(texts), 50))
    rest = [pair for i, pair in enumerate(texts) if i not in held]
    return rest, [texts[i] for i in sorted(held)]


def find_tokens(
    given: argparse.Namespace, run: dict[str, Any], texts: Texts
) -> Tokenizer:
    """The tokeniser of the run, or a new one for both languages together."""
    if given.resume or run["init"]:
        return tokenizer.load((given.folder if given.resume else given.init) / TOKENS)
    both = [text for pair in texts for text in pair]
    return BytePairEncoding.train(both, run["merges"])


def left_out(encoded: Encoded, config: Config) -> str:
    """How many pairs were left out and why."""
    longer = f"{encoded.too_long:,} of more than {config.max_len} tokens"
    return f"left out: {encoded.empty:,} with an empty side, {longer}"

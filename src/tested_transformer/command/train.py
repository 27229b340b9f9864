"""The command `train`: from sentence pairs to a trained model in a folder."""

import argparse
from dataclasses import asdict, fields
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
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.curves import curves
from tested_transformer.training.distributed import join
from tested_transformer.training.filenames import CONFIG, CURVES, RUN, STATE, TOKENS
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
        "--preset", choices=PRESETS, default="mini", help="sizes to begin from"
    )
    for name in ("d_model", "d_ff", "n_heads", "n_layers", "max_len"):
        model.add_argument(flag(name), type=int, metavar="int", help=HELP[name])
    model.add_argument(
        "--dropout", type=float, metavar="float", help="in training only"
    )
    model.add_argument(
        "--norm-first", action="store_true", default=None,
        help="norms before the sub-layers; the paper has them behind",
    )  # fmt: skip
    model.add_argument(
        "--merges", type=int, metavar="int", default=8000,
        help="pairs that the tokeniser joins at most",
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
        config = Config(**run["config"] | {"vocab_size": tokens.vocab_size})
        options = Options.from_dict(run["options"])
        torch.manual_seed(options.seed)
        model = Transformer(config)
        encoded = encode_pairs(train_texts, tokens, config.max_len)
        valid = encode_pairs(valid_texts, tokens, config.max_len)
        for name, part in (("training", encoded), ("validation", valid)):
            if not part.pairs:
                raise ValueError(f"no {name} pair is left: {left_out(part, config)}")
        folder = given.folder
        if not given.resume and world.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            write_json(folder / RUN, run)
            checkpoint.save(folder, model, tokens)
        trainer = Trainer(model, options, encoded.pairs, valid.pairs, folder, world)
        if given.resume:
            trainer.resume()
        if world.rank:
            trainer.run()
            trainer.try_mean()
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
        trainer.try_mean()
        try:
            write(folder / CURVES, curves(log.events))
        except ModuleNotFoundError as error:
            log.write(f"no {CURVES}: {error}")
        ended = "stopped" if trainer.asked_to_stop else "finished"
        log.write(
            f"{ended} after step {progress.step}, {progress.seconds / 60:.1f} min"
        )
        again = f"python -m tested_transformer train {folder} --resume"
        log.write(f"the best model is {folder}; go on with: {again}")
    finally:
        log.close()


def begun(given: argparse.Namespace) -> dict[str, Any]:
    """A new run: data, sizes and options from the command line."""
    for name in (RUN, CONFIG, STATE):
        if (given.folder / name).exists():
            rule = "add --resume to go on with it, or choose another folder"
            raise ValueError(f"{given.folder} already holds a run ({name}): {rule}")
    config, settings = PRESETS[given.preset]
    names = ("d_model", "d_ff", "n_heads", "n_layers", "max_len", "dropout")
    changes = {n: getattr(given, n) for n in (*names, "norm_first")}
    config = config.replace(**{n: v for n, v in changes.items() if v is not None})
    asked = {field.name: getattr(given, field.name) for field in fields(Options)}
    options = Options(**settings | {n: v for n, v in asked.items() if v is not None})
    if options.steps is options.epochs is options.minutes is options.patience is None:
        raise ValueError("say when to stop: --steps, --epochs, --minutes or --patience")
    return {"data": chosen(given), "config": asdict(config), "options": asdict(options)}


def resumed(given: argparse.Namespace) -> dict[str, Any]:
    """The run in the folder, with other limits if the command line names some."""
    run = read_json(given.folder / RUN, "run")
    free = Options.from_dict(run["options"]).changeable()
    for field in fields(Options):
        value = getattr(given, field.name)
        if value is None:
            continue
        if field.name not in free and value != run["options"][field.name]:
            raise ValueError(f"{flag(field.name)} cannot change when a run goes on")
        run["options"][field.name] = value
    return run


def chosen(given: argparse.Namespace) -> dict[str, Any]:
    """Which sentence pairs, in a form that --resume finds again."""
    shared.check_pairs(given)
    if given.phrasebook is not None:
        return {"phrasebook": given.phrasebook}
    if given.multi30k:
        return {"multi30k": str(given.multi30k.resolve())}
    data = {}
    for one, other in (("source", "target"), ("valid_source", "valid_target")):
        paths = getattr(given, one), getattr(given, other)
        if (paths[0] is None) != (paths[1] is None):
            raise ValueError(f"{flag(one)} and {flag(other)} belong together")
        if paths[0] is not None:
            data |= {one: str(paths[0].resolve()), other: str(paths[1].resolve())}
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
) -> BytePairEncoding:
    """The tokeniser of the run, or a new one for both languages together."""
    if given.resume:
        return BytePairEncoding.load(given.folder / TOKENS)
    both = [text for pair in texts for text in pair]
    return BytePairEncoding.train(both, given.merges)


def left_out(encoded: Encoded, config: Config) -> str:
    """How many pairs were left out and why."""
    longer = f"{encoded.too_long:,} of more than {config.max_len} tokens"
    return f"left out: {encoded.empty:,} with an empty side, {longer}"

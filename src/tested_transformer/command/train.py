"""The command `train`: from sentence pairs to a trained model in a folder."""

import argparse
from dataclasses import fields
from math import ceil, inf
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tested_transformer.command import arguments as shared
from tested_transformer.command.run import (
    MERGES,
    PRESET,
    PRESETS,
    SIZES,
    Run,
    as_a_rule,
    begins,
    flag,
    goes_on,
    typed,
)
from tested_transformer.config import Config
from tested_transformer.data import multi30k
from tested_transformer.data.batches import Pair
from tested_transformer.data.parallel import Encoded, encode_pairs, read_parallel
from tested_transformer.files import sweep, write
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook import corpus
from tested_transformer.text import tokenizer
from tested_transformer.text.tokenizer import Saved
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.curves import curves
from tested_transformer.training.distributed import join
from tested_transformer.training.filenames import CURVES, RUN, TOKENS, check_free
from tested_transformer.training.log import RunLog
from tested_transformer.training.options import Options
from tested_transformer.training.resume import Progress, fingerprint
from tested_transformer.training.train import Trainer

HELP = {
    "d_model": "width of the vectors",
    "d_ff": "width inside the feed-forward network",
    "n_heads": "heads of each attention",
    "n_layers": "layers of the encoder, and again of the decoder",
    "max_len": "most tokens of a sentence; longer pairs are left out",
    "steps": "stop after so many steps",
    "epochs": "stop after so many passes through the pairs",
    "minutes": "stop after so many minutes, those before --resume among them",
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
NONE_YET = "no epoch has ended, so there is no best model yet"


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    add.add_argument("folder", type=shared.named, help="where the run is kept")
    add.add_argument("--resume", action="store_true", help="go on with the run there")
    data = shared.add_pairs(add)
    data.add_argument(
        "--valid-source", type=shared.named,
        help="held out (else 1 in 50 is, but for those that are trained on as well)",
    )  # fmt: skip
    data.add_argument("--valid-target", type=shared.named, help="their translations")
    data.add_argument(
        "--phrasebook", type=int, nargs="?", const=20_000, metavar="PAIRS",
        help="this book's own; 20000 pairs unless another number is given",
    )  # fmt: skip
    model = add.add_argument_group("the model")
    model.add_argument(
        "--preset", choices=PRESETS, help=f"sizes to begin from (else {PRESET})"
    )
    model.add_argument(
        "--init", type=shared.model_folder, metavar="FOLDER",
        help="a trained model to begin from, with its sizes and its tokens; phrasebook"
        " is the one of this package",
    )  # fmt: skip
    for name in SIZES[:5]:
        told = f"{HELP[name]} {as_a_rule(name)}"
        model.add_argument(flag(name), type=int, metavar="int", help=told)
    model.add_argument(
        "--dropout", type=float, metavar="float",
        help=f"in training only {as_a_rule('dropout')}",
    )  # fmt: skip
    model.add_argument(
        "--norm-first", action="store_true", default=None,
        help="norms before the sub-layers; the paper has them behind",
    )  # fmt: skip
    model.add_argument(
        "--merges", type=int, metavar="int",
        help=f"pairs that the tokeniser joins at most (else {MERGES})",
    )  # fmt: skip
    limits = "Limits are of the whole run: what it did before --resume counts."
    how = add.add_argument_group("training", limits)
    for field in fields(Options):
        kind = {"precision": str, "seed": int}.get(field.name) or (
            float if "float" in str(field.type) else int
        )
        told = HELP[field.name]
        if field.default is not None:
            told += f" {as_a_rule(field.name)}"
        how.add_argument(flag(field.name), type=kind, metavar=kind.__name__, help=told)
    how.add_argument("--device", **shared.DEVICE)
    how.add_argument("--threads", **shared.THREADS)


def train(given: argparse.Namespace) -> None:
    """Train, or go on training; with `torchrun`, in several processes."""
    shared.use_threads(given.threads)
    folder = given.folder
    with join(given.device) as world:
        run = goes_on(given) if given.resume else begins(given)
        texts = read_texts(run.data)
        tokens, weights = beginning(run, folder if given.resume else None, texts[0])
        torch.manual_seed(run.options.seed)
        model = Transformer(run.config.replace(vocab_size=tokens.vocab_size))
        if weights:
            model.load_state_dict(weights)
        encoded = [encode_pairs(part, tokens, model.config.max_len) for part in texts]
        check_left(*encoded, model.config)
        pairs, held = (part.pairs for part in encoded)
        valid, repeated = apart(pairs, held, splits(run.data))
        trainer = Trainer(
            model, run.options, pairs, valid, folder, world, tokens=tokens
        )
        with trainer.writing():
            if given.resume:
                resume(trainer, held)
            elif not world.rank:
                check_free(folder, trainer.token_file)
                run.save(folder / RUN)
            if world.rank:
                trainer.run()
            else:
                sweep(folder)
                told = f"{len(pairs):,} pairs; {left_out(encoded[0], model.config)}"
                watch(trainer, [told, *repeated], folder)


def beginning(
    run: Run, resumed: Path | None, texts: Texts
) -> tuple[Saved, dict[str, Tensor] | None]:
    """The tokeniser, and the weights of --init, if there are any.

    Without one of before, the tokeniser learns from the texts, both sides together.
    """
    if resumed:
        return tokenizer.load(resumed / TOKENS), None
    if not run.init:
        both = [text for pair in texts for text in pair]
        return BytePairEncoding.train(both, run.merges), None
    model, tokens = checkpoint.load(run.init)
    if tokens is None:
        raise ValueError(f"{run.init} has no {TOKENS}, so it reads no text")
    return tokens, model.state_dict()


def check_left(train: Encoded, valid: Encoded, config: Config) -> None:
    """Refuse to train or to validate on nothing."""
    for name, part in (("training", train), ("validation", valid)):
        if not part.pairs:
            raise ValueError(f"no {name} pair is left: {left_out(part, config)}")


def apart(
    train: list[Pair], valid: list[Pair], ours: bool
) -> tuple[list[Pair], list[str]]:
    """The pairs to validate on, and a line about those that stand in training, too.

    Where we hold pairs out ourselves, these are left out. With the same source and
    another target a pair stays: its answer was never learned.
    """
    held = {as_key(pair) for pair in valid}
    known = {key for pair in train if (key := as_key(pair)) in held}
    new = [pair for pair in valid if as_key(pair) not in known]
    found = f"{len(valid) - len(new):,} of {len(valid):,} pairs to validate on"
    found += " stand in training, too"
    if len(new) == len(valid):
        return valid, []
    if not ours:
        return valid, [f"{found}: new ones would have a higher loss"]
    if not new:
        rule = "take repeated lines out, or give --valid-source and --valid-target"
        raise ValueError(f"{found}: {rule}")
    return new, [f"{found}: they are left out"]


def as_key(pair: Pair) -> tuple[tuple[int, ...], ...]:
    """A pair as something that a set can hold."""
    return tuple(map(tuple, pair))


def resume(trainer: Trainer, held: list[Pair]) -> None:
    """Go on. A run that once validated on all pairs that were held out cannot."""
    try:
        trainer.resume()
    except ValueError as error:
        before = fingerprint(trainer.train, held)
        if before == trainer.fingerprint or before not in str(error):
            raise
        why = "an older version validated on pairs that stand in training, too"
        rule = f"begin another run with its model, --init {typed(trainer.folder)}"
        raise ValueError(f"{error}; {why}: {rule}") from None


def watch(trainer: Trainer, notes: list[str], folder: Path) -> None:
    """Train, and tell how it goes: bar, log, numbers, curves."""
    options, progress = trainer.options, trainer.progress
    log = RunLog(folder, progress.step, options.steps)
    trainer.report = log
    size = sum(parameter.numel() for parameter in trainer.model.parameters())
    for note in (*notes, f"{size:,} parameters on {trainer.world.device}"):
        log.write(note)
    try:
        progress = trainer.run()
        try:
            write(folder / CURVES, curves(log.events))
        except (ModuleNotFoundError, OSError, ValueError) as error:
            log.write(f"no {CURVES}: {error}")
        ended = "stopped" if trainer.asked_to_stop else "finished"
        log.write(
            f"{ended} after step {progress.step}, {progress.seconds / 60:.1f} min"
        )
        if progress.step < options.warmup and not trainer.asked_to_stop:
            rises = f"the learning rate was still rising (--warmup {options.warmup})"
            log.write(f"{rises}: train for longer, or let it rise for fewer steps")
        found = f"the best model is {folder}" if progress.best < inf else NONE_YET
        log.write(f"{found}; {go_on(folder, options, progress, trainer.asked_to_stop)}")
    finally:
        log.close()


def go_on(folder: Path, options: Options, progress: Progress, stopped: bool) -> str:
    """How to go on: after a limit, with twice as much of it, or nothing would happen."""
    now = {
        "steps": progress.step, "epochs": progress.epoch, "patience": progress.waited,
    }  # fmt: skip
    limits = {name: getattr(options, name) or inf for name in now}
    more = {name: value for name, value in now.items() if value >= limits[name]}
    if not more and options.minutes and not stopped:
        more["minutes"] = max(options.minutes, round(progress.seconds / 60))
    if "steps" in more and options.cooldown:
        return (
            f"the rate came down to zero; begin a new run with --init {typed(folder)}"
        )
    again = f"go on with: python -m tested_transformer train {typed(folder)} --resume"
    raised = [f"{flag(name)} {ceil(2 * value)}" for name, value in more.items()]
    return " ".join([again, *raised])


def read_texts(data: dict[str, Any]) -> tuple[Texts, Texts]:
    """The pairs to train and to validate on."""
    if "phrasebook" in data:
        train, valid, _ = corpus.split(data["phrasebook"])
        return [s[:2] for s in train], [s[:2] for s in valid]
    if "multi30k" in data:
        folder = data["multi30k"]
        return multi30k.read(folder, "train"), multi30k.read(folder, "val")
    texts = read_parallel(data["source"], data["target"])
    if not splits(data):
        return texts, read_parallel(data["valid_source"], data["valid_target"])
    if len(texts) < 2:
        raise ValueError(f"{data['source']} has {len(texts)} lines; 2 are needed")
    held = set(range(0, len(texts), 50))
    rest = [pair for i, pair in enumerate(texts) if i not in held]
    return rest, [texts[i] for i in sorted(held)]


def splits(data: dict[str, Any]) -> bool:
    """Whether it is for us to hold pairs out."""
    return "source" in data and "valid_source" not in data


def left_out(encoded: Encoded, config: Config) -> str:
    """How many pairs were left out and why."""
    longer = f"{encoded.too_long:,} of more than {config.max_len} tokens"
    return f"left out: {encoded.empty:,} with an empty side, {longer}"

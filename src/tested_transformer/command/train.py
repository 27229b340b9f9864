"""The command `train`: from sentence pairs to a trained model in a folder."""

import argparse
import shlex
from dataclasses import fields
from math import inf
from pathlib import Path
from typing import Any

import torch

from tested_transformer.command import arguments as shared
from tested_transformer.command.run import PRESETS, SIZES, begins, flag, goes_on
from tested_transformer.config import Config
from tested_transformer.data import multi30k
from tested_transformer.data.parallel import Encoded, encode_pairs, read_parallel
from tested_transformer.files import sweep, write
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook import corpus
from tested_transformer.text import tokenizer
from tested_transformer.text.normalise import normalise
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.curves import curves
from tested_transformer.training.distributed import join
from tested_transformer.training.filenames import CURVES, RUN, TOKENS, check_free
from tested_transformer.training.log import RunLog
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

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
NONE_YET = "no epoch has ended, so there is no best model yet"


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    add.add_argument("folder", type=named, help="where the run is kept")
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


def named(text: str) -> Path:
    """The path of that name; no name is an error, not the folder where we are."""
    if not text:
        raise argparse.ArgumentTypeError("its name is empty")
    return Path(text)


def train(given: argparse.Namespace) -> None:
    """Train, or go on training; with `torchrun`, in several processes."""
    folder = given.folder
    with join(given.device) as world:
        run = goes_on(given) if given.resume else begins(given)
        train_texts, valid_texts = read_texts(run.data)
        start: Transformer | None = None
        if given.resume:
            tokens = tokenizer.load(folder / TOKENS)
        elif run.init:
            start, tokens = checkpoint.load(run.init)
        else:
            both = [normalise(text) for pair in train_texts for text in pair]
            tokens = BytePairEncoding.train(both, run.merges)
        if tokens is None:
            raise ValueError(f"{run.init} has no {TOKENS}, so it reads no text")
        config = run.config.replace(vocab_size=tokens.vocab_size)
        torch.manual_seed(run.options.seed)
        model = Transformer(config)
        encoded = encode_pairs(train_texts, tokens, config.max_len)
        valid = encode_pairs(valid_texts, tokens, config.max_len)
        for name, part in (("training", encoded), ("validation", valid)):
            if not part.pairs:
                raise ValueError(f"no {name} pair is left: {left_out(part, config)}")
        if start:
            model.load_state_dict(start.state_dict())
        pairs = encoded.pairs, valid.pairs
        trainer = Trainer(model, run.options, *pairs, folder, world, tokens=tokens)
        with trainer.writing():
            if given.resume:
                trainer.resume()
            elif not world.rank:
                check_free(folder, trainer.token_file)
                run.save(folder / RUN)
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
        except (ModuleNotFoundError, OSError, ValueError) as error:
            log.write(f"no {CURVES}: {error}")
        ended = "stopped" if trainer.asked_to_stop else "finished"
        log.write(
            f"{ended} after step {progress.step}, {progress.seconds / 60:.1f} min"
        )
        again = (
            f"python -m tested_transformer train {shlex.quote(str(folder))} --resume"
        )
        found = f"the best model is {folder}" if progress.best < inf else NONE_YET
        log.write(f"{found}; go on with: {again}")
    finally:
        log.close()


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


def left_out(encoded: Encoded, config: Config) -> str:
    """How many pairs were left out and why."""
    longer = f"{encoded.too_long:,} of more than {config.max_len} tokens"
    return f"left out: {encoded.empty:,} with an empty side, {longer}"

"""What `train` does with a text: its tokeniser, its ids in the folder, and a `Gpt`."""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import torch
from filelock import FileLock
from torch import Tensor, nn
from tqdm import tqdm

from tested_transformer.command.run import MERGES, Run
from tested_transformer.data.ids import Packed, read_ids, write_ids
from tested_transformer.data.rows import encode_texts, stream_texts
from tested_transformer.files import locked, make_folder
from tested_transformer.model.gpt import Gpt
from tested_transformer.text import tokenizer
from tested_transformer.text.tokenizer import Saved
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.distributed import World
from tested_transformer.training.filenames import IDS, LOCK, RUN, TOKENS, check_free
from tested_transformer.training.objective import LanguageModel
from tested_transformer.training.train import Trainer

FIRST = 100_000
"""So many texts the tokeniser learns from: the counts of all words must fit in memory."""

FOR = "to train on", "to validate on"

EVERY = 50
"""One text in so many is held out, where no file to validate on is given."""


def create_trainer(
    run: Run,
    folder: Path,
    resumed: bool,
    world: World,
    prepare: Callable[[Gpt], None] | None = None,
) -> tuple[Trainer, list[str], tuple[()]]:
    """The trainer of a run with --text, and a line about what it learns from.

    The text is read once and never held: its ids go to files in the folder, and a run
    that goes on reads those. What has to be done with the model before, prepare does.
    """
    make_folder(folder)
    first = islice(part(run, IDS[0]), FIRST)
    tokens, weights = beginning(run, folder if resumed else None, first, Gpt)
    torch.manual_seed(run.options.seed)
    model = Gpt(run.config.replace(vocab_size=tokens.vocab_size))
    if weights:
        model.load_state_dict(weights)
    if prepare:
        prepare(model)
    if not world.rank:
        write_parts(run, folder, tokens, resumed)
    world.sum(0)  # wait until they are written
    files = [folder / name for name in IDS]
    train, valid = map(packed, files, FOR, [run.config.max_len] * 2)
    objective = LanguageModel(model, run.options.smoothing)
    trainer = Trainer(
        objective, run.options, train, valid, folder, world, tokens=tokens
    )
    told = f"{len(train.ids):,} ids in {len(train):,} windows of {train.length}"
    return trainer, [f"{told}; {len(valid):,} more to validate on"], ()


def beginning(
    run: Run, resumed: Path | None, texts: Iterable[str], kind: type[nn.Module]
) -> tuple[Saved, dict[str, Tensor] | None]:
    """The tokeniser, and the weights of --init, if there are any.

    Without one of before, the tokeniser learns from the texts, which are read only then.
    """
    if resumed:
        return tokenizer.load(resumed / TOKENS), None
    if run.init:
        model, tokens = checkpoint.load(run.init, kind=kind)
        if tokens is None:
            raise ValueError(f"{run.init} has no {TOKENS}, so it reads no text")
        return tokens, model.state_dict()
    merges = MERGES if run.merges is None else run.merges
    return BytePairEncoding.train(texts, merges), None


def part(run: Run, name: str) -> Iterator[str]:
    """The texts to train on, or to validate on: one of the names in IDS says which."""
    held = name == IDS[1]
    if "valid_text" in run.data:
        return stream_texts(run.data["valid_text" if held else "text"])
    texts = enumerate(stream_texts(run.data["text"]))
    return (text for i, text in texts if (i % EVERY == 0) == held)


def write_parts(run: Run, folder: Path, tokens: Saved, resumed: bool) -> None:
    """Write the ids of both parts into the folder; a run that goes on has them."""
    with locked(FileLock(folder / LOCK)):
        if not resumed:
            check_free(folder, checkpoint.token_file(tokens))
            run.save(folder / RUN)
        for name in IDS:
            if resumed and (folder / name).exists():
                continue
            # disable=None: a bar for people only, who wait
            with tqdm(
                part(run, name), name, unit=" texts", disable=None, file=sys.stderr
            ) as texts:
                write_ids(
                    folder / name, encode_texts(iter(texts), tokens), tokens.vocab_size
                )


def packed(path: Path, what: str, length: int) -> Packed:
    """The windows of a file; too few ids are told with what can be done."""
    ids = read_ids(path)
    if len(ids) <= length:
        found = (
            f"the text {what} has {len(ids)} ids, fewer than a window ({length} + 1)"
        )
        rule = "give more text (--text, --valid-text) or a smaller --max-len"
        raise ValueError(f"{found}: {rule}")
    return Packed(ids, length)

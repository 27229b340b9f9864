"""The command `evaluate`: measure how well a model translates, with BLEU and chrF."""

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tested_transformer.command import arguments as shared
from tested_transformer.data import multi30k
from tested_transformer.data.parallel import read_parallel, stream_lines
from tested_transformer.data.rows import stream_pairs
from tested_transformer.decoding.translator import Translator
from tested_transformer.files import write_json
from tested_transformer.phrasebook import corpus
from tested_transformer.shares import as_share
from tested_transformer.text.normalise import normalise

BY_SPACES = "13a", "intl", "none"
TOKENIZE = *BY_SPACES, "char", "zh", "ja-mecab", "ko-mecab"
"""Ways to cut into words, by their names in sacreBLEU: those that download nothing."""
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uaa60-\uaa7f\U00020000-\U0003ffff]"
)
"""Letters of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese."""
UNSUITED = (
    "the references are written without spaces, and BLEU takes what is between two "
    "spaces for a word: try --bleu-tokenize char (or zh, ja-mecab)"
)


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    shared.add_translator(add)
    data = shared.add_pairs(add)
    data.add_argument(
        "--part", choices=multi30k.PARTS, default="test_2016_flickr", metavar="PART",
        help=f"part of Multi30k: {', '.join(multi30k.PARTS)}",
    )  # fmt: skip
    data.add_argument(
        "--phrasebook",
        action="store_const",
        const=True,
        help="the book's own held-out sentences",
    )
    add.add_argument(
        "--bleu-tokenize", choices=TOKENIZE, default="13a", metavar="WAY",
        help=f"how BLEU splits text into words, by sacreBLEU's names: {', '.join(TOKENIZE)}",
    )  # fmt: skip
    add.add_argument("--out", type=Path, help="write the numbers to this file as JSON")


def evaluate(given: argparse.Namespace) -> None:
    """Translate, compare, and print the scores with what they were measured by."""
    if given.out:
        shared.check_output(
            given.out, given.model, given.source, given.target, given.pairs
        )
    create_metrics(given.bleu_tokenize)  # what is missing is told before any work
    texts, name = read_pairs(given)
    pairs = full_pairs(texts)
    sources, right = map(list, zip(*pairs, strict=True))
    if given.bleu_tokenize in BY_SPACES and without_spaces(right):
        print(f"warning: {UNSUITED}", file=sys.stderr)
    translator = shared.load_translator(given)
    check_lengths(translator, texts, name, given.pairs)
    started = time.process_time(), time.perf_counter()
    # disable=None: a bar for people only, who wait
    with tqdm(total=len(pairs), unit=" sentences", disable=None) as bar:
        written = translator.translate(sources, report=bar.update)
    seconds = time.process_time() - started[0], time.perf_counter() - started[1]
    numbers = {"data": name, "sentences": len(pairs)}
    numbers |= {"left out (empty)": len(texts) - len(pairs)}
    numbers |= {"beam": given.beam, "alpha": given.alpha}
    numbers |= scores(written, right, given.bleu_tokenize)
    numbers |= {"cpu_s": round(seconds[0], 2), "wall_s": round(seconds[1], 2)}
    for key, value in numbers.items():
        print(f"{key:16} {value}")
    if given.out:
        write_json(given.out, numbers)


def full_pairs(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs without those with an empty side, which training leaves out, too."""
    pairs = [pair for pair in texts if all(map(normalise, pair))]
    if not texts:
        raise ValueError("there must be at least one sentence pair")
    if not pairs:
        raise ValueError(f"no pair is left: all {len(texts)} have an empty side")
    return pairs


def check_lengths(
    translator: Translator, texts: list[tuple[str, str]], name: str, rows: Path | None
) -> None:
    """Refuse a source that is too long for the model, by its line; rows is for --pairs."""
    numbered = enumerate(stream_lines(rows) if rows else texts, 1)
    places = [n for n, line in numbered if line]  # rows that are empty are no pairs
    for place, pair in zip(places, texts, strict=True):
        try:
            if all(map(normalise, pair)):
                translator.encode(pair[0], place)
        except ValueError as error:
            raise ValueError(f"{name}, line {place}: {error}") from None


def read_pairs(given: argparse.Namespace) -> tuple[list[tuple[str, str]], str]:
    """Sources with their right translations, and what they are called."""
    shared.check_pairs(given)
    if given.phrasebook:
        test = corpus.split()[2]
        return [(s.english, s.german) for s in test], "phrasebook, held out"
    if given.multi30k:
        return multi30k.read(given.multi30k, given.part), f"multi30k {given.part}"
    if given.pairs:
        return list(stream_pairs(given.pairs)), str(given.pairs)
    return read_parallel(given.source, given.target), str(given.source)


def without_spaces(texts: list[str]) -> bool:
    """Whether most letters are of scripts without spaces, and hardly a space is there.

    Chinese that was cut into words before has a space for every second letter or so.
    """
    joined = "".join(texts)
    letters, unspaced = len(re.findall(r"\w", joined)), len(UNSPACED.findall(joined))
    return unspaced > letters / 2 and len(re.findall(r"\s+", joined)) < unspaced / 8


def create_metrics(tokenize: str = "13a") -> tuple[Any, Any]:
    """BLEU and chrF of sacreBLEU, which is optional; without it a ValueError.

    tokenize is how BLEU cuts into words: one of `TOKENIZE`.
    """
    try:
        from sacrebleu.metrics import (  # type: ignore[attr-defined] # it names no export
            BLEU,
            CHRF,
        )
    except ImportError:
        needed = "sacrebleu, which is not installed: pip install sacrebleu"
        raise ValueError(f"evaluate needs {needed}") from None
    try:
        return BLEU(tokenize=tokenize), CHRF()
    except (ImportError, KeyError, RuntimeError) as error:
        told = str(error).strip().partition("\n")[0]
        rule = f"sacreBLEU, as installed here, cannot cut by {tokenize!r}"
        raise ValueError(f"{rule}: {told}") from None


def scores(
    written: list[str], right: list[str], tokenize: str = "13a"
) -> dict[str, Any]:
    """BLEU (by sacreBLEU) and chrF with their signatures, and how many are right to the letter.

    Both sides are read as `normalise` writes them, like the targets of a training.
    """
    written, right = ([*map(normalise, texts)] for texts in (written, right))
    exact = sum(ours == theirs for ours, theirs in zip(written, right, strict=True))
    numbers: dict[str, Any] = {"exact": float(as_share(exact / len(right), 4))}
    for metric in create_metrics(tokenize):
        score = metric.corpus_score(written, [right])
        numbers[score.name] = round(score.score, 2)
        numbers[f"{score.name} signature"] = str(metric.get_signature())
    return numbers

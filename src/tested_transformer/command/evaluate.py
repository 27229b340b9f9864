"""The command `evaluate`: how well a model translates, as BLEU and chrF."""

import argparse
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tested_transformer.command import arguments as shared
from tested_transformer.data import multi30k
from tested_transformer.data.parallel import read_parallel
from tested_transformer.files import write_json
from tested_transformer.phrasebook import corpus


def arguments(add: argparse.ArgumentParser) -> None:
    """What can be said to this command."""
    shared.add_translator(add)
    data = shared.add_pairs(add)
    data.add_argument(
        "--part", default="test_2016_flickr", help="of Multi30k: val or a test set"
    )
    data.add_argument(
        "--phrasebook", action="store_const", const=True, help="held-out sentences"
    )
    add.add_argument("--out", type=Path, help="write the numbers to this file as JSON")


def evaluate(given: argparse.Namespace) -> None:
    """Translate, compare, and print the scores with what they were measured by."""
    if given.out:
        shared.check_output(given.out, given.model, given.source, given.target)
    import_metrics()
    texts, name = read_pairs(given)
    if not texts:
        raise ValueError("there must be at least one sentence pair")
    translator = shared.load_translator(given)
    sources = [source for source, _ in texts]
    started = time.process_time(), time.perf_counter()
    # disable=None: a bar for people only, who wait
    with tqdm(total=len(texts), unit=" sentences", disable=None) as bar:
        written = translator.translate(sources, report=bar.update)
    seconds = time.process_time() - started[0], time.perf_counter() - started[1]
    numbers = {"data": name, "sentences": len(texts)}
    numbers |= {"beam": given.beam, "alpha": given.alpha}
    numbers |= scores(written, [target for _, target in texts])
    numbers |= {"cpu_s": round(seconds[0], 2), "wall_s": round(seconds[1], 2)}
    for key, value in numbers.items():
        print(f"{key:16} {value}")
    if given.out:
        write_json(given.out, numbers)


def read_pairs(given: argparse.Namespace) -> tuple[list[tuple[str, str]], str]:
    """Sources with their right translations, and what they are called."""
    shared.check_pairs(given)
    if given.phrasebook:
        test = corpus.split()[2]
        return [(s.english, s.german) for s in test], "phrasebook, held out"
    if given.multi30k:
        return multi30k.read(given.multi30k, given.part), f"multi30k {given.part}"
    return read_parallel(given.source, given.target), str(given.source)


def import_metrics() -> tuple[Any, Any]:
    """BLEU and chrF of sacreBLEU, which is optional; without it a ValueError."""
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ImportError:
        needed = "sacrebleu, which is not installed: pip install sacrebleu"
        raise ValueError(f"evaluate needs {needed}") from None
    return BLEU, CHRF


def scores(written: list[str], right: list[str]) -> dict[str, Any]:
    """BLEU (by sacreBLEU) and chrF with their signatures, and how many are right to the letter."""
    exact = sum(ours == theirs for ours, theirs in zip(written, right, strict=True))
    numbers: dict[str, Any] = {"exact": round(exact / len(right), 4)}
    for make in import_metrics():
        metric = make()
        score = metric.corpus_score(written, [right])
        numbers[score.name] = round(score.score, 2)
        numbers[f"{score.name} signature"] = str(metric.get_signature())
    return numbers

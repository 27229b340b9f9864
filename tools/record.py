"""Gather what a training run left into one file of numbers, for a chapter to read. No sentence is in it.

    python tools/record.py RUN EVALUATION.json … --out book/results/NAME.json
        --command "…" --machine "…" --commit …  [--cpu cpu.log]  [--multi30k FOLDER | --phrasebook N]

RUN is the folder of `tested_transformer train`. Each evaluation is a file of `evaluate --out` and is called
…-MINUTES-PART-BEAM.json, for example run-15-val-5.json. The log of the processors has lines "unix-time process
seconds-so-far". With test sentences, the best model of the run translates them once more, and what BLEU counts is kept
of each: words of the source, of the translation and of the reference, and the hits of one to four words.

The file names the weights of the best model and the pairs by their checksums, and has one of its own content. RUN must
be whole: its model must have the validation loss that the run has kept as its best.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import sys
from datetime import datetime

from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from tested_transformer.command.evaluate import scores
from tested_transformer.command.train import read_texts
from tested_transformer.data import multi30k
from tested_transformer.data.parallel import encode_pairs
from tested_transformer.decoding.translator import Translator
from tested_transformer.files import read_json, sealed
from tested_transformer.phrasebook import corpus
from tested_transformer.training import checkpoint
from tested_transformer.training.distributed import join
from tested_transformer.training.events import EpochMean, Step, Validation
from tested_transformer.training.filenames import CONFIG, LOG, MODEL, RUN, STATE
from tested_transformer.training.log import read_metrics
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

EVERY = 50  # steps whose loss becomes one number


def rounded(number, digits=4):
    """A number with so many digits behind the point."""
    return round(float(number), digits)


def curves(events):
    """Training loss as means over some steps, all validations, and means of checkpoints; time in minutes."""
    groups = {}
    for event in (event for event in events if isinstance(event, Step)):
        groups.setdefault((event.step - 1) // EVERY, []).append(event)
    training = [
        {
            "step": group[-1].step,
            "minutes": rounded(group[-1].seconds / 60, 2),
            "loss": rounded(statistics.fmean(event.loss for event in group)),
            "rate": rounded(group[-1].rate, 7),
        }
        for group in groups.values()
    ]
    validation = [
        {
            "step": event.step,
            "epoch": event.epoch,
            "minutes": rounded(event.seconds / 60, 2),
            "loss": rounded(event.loss),
            "accuracy": rounded(event.accuracy),
        }
        for event in events
        if isinstance(event, Validation)
    ]
    means = [
        {"step": event.step, "epochs": event.epochs, "loss": rounded(event.loss)}
        for event in events
        if isinstance(event, EpochMean)
    ]
    return training, validation, means


def evaluation(path):
    """One file of `evaluate --out`, with the minutes of training that its name tells."""
    found = re.fullmatch(r".*-(\d+(?:\.\d+)?)-([a-z]+)-(\d+)", path.stem)
    if not found:
        raise ValueError(f"{path.name} must be called NAME-MINUTES-PART-BEAM.json")
    minutes, part, beam = float(found[1]), found[2], int(found[3])
    numbers = read_json(path, "evaluation")
    if numbers["beam"] != beam:
        raise ValueError(f"{path.name} was made with a beam of {numbers['beam']}")
    return {"minutes": minutes, "part": part} | numbers


def processor_minutes(log, begun, ended):
    """Minutes of processor time of all processes in the log that began between two moments."""
    first, last = {}, {}
    for line in log.read_text(encoding="utf-8").splitlines():
        when, process, seconds = line.split()
        first.setdefault(process, float(when))
        last[process] = float(seconds)
    return rounded(sum(s for p, s in last.items() if begun - 30 <= first[p] <= ended) / 60, 1)


def moments(folder):
    """When the run began and ended, from its log, in seconds."""
    lines = (folder / LOG).read_text(encoding="utf-8").splitlines()
    return [datetime.fromisoformat(line[:19]).timestamp() for line in (lines[0], lines[-1])]


def identity(folder, run, multi30k_folder):
    """What names the best model and the pairs of a run, after a look at whether all is of one run."""
    model, tokens = checkpoint.load(folder)
    weights, _ = checkpoint.read_tensors(folder / MODEL)
    tensors, told = checkpoint.read_tensors(folder / STATE)
    texts = read_texts({"multi30k": multi30k_folder} if multi30k_folder else run["data"])
    pairs = [encode_pairs(part, tokens, model.config.max_len).pairs for part in texts]
    with join() as world:
        trainer = Trainer(model, Options.from_dict(run["options"]), *pairs, folder, world)
        best = trainer.state().check(folder / STATE, tensors, told).best
        loss, _ = trainer.validate(model.state_dict())
    if not math.isclose(loss, best, rel_tol=1e-3):  # other devices and precisions differ by less
        raise ValueError(f"{folder / MODEL} is of another run: its loss is {loss:.4f}, the best was {best:.4f}")
    return {"weights": checkpoint.checksum(weights, "{}"), "pairs": told["pairs"]}


def counts(sources, written, right):
    """What BLEU counts of each sentence, and how many words the source has (tokenisation 13a)."""
    words, metric = Tokenizer13a(), BLEU(effective_order=True)
    rows = []
    for source, ours, theirs in zip(sources, written, right, strict=True):
        score = metric.sentence_score(ours, [theirs])
        rows.append([len(words(source).split()), score.sys_len, score.ref_len, *map(int, score.counts)])
    return rows


def translated(folder, given):
    """The counts of the test sentences, with the scores that follow from them."""
    if given.multi30k:
        pairs, part = multi30k.read(given.multi30k, "test_2016_flickr"), "test_2016_flickr"
    else:
        pairs, part = [s[:2] for s in corpus.split(n_test=given.phrasebook)[2]], "phrasebook, held out"
    sources, right = zip(*pairs, strict=True)
    written = Translator.load(folder, width=given.beam).translate(sources)
    numbers = {"part": part, "beam": given.beam} | scores(written, list(right))
    columns = ["source", "written", "reference", *(f"hits {n}" for n in (1, 2, 3, 4))]
    return numbers | {"columns": columns, "rows": counts(sources, written, right)}


def record(given):
    """Everything as one dictionary."""
    run, config = (read_json(given.run / name, "run") for name in (RUN, CONFIG))
    begun, ended = moments(given.run)
    training, validation, means = curves(read_metrics(given.run))
    model, _ = checkpoint.load(given.run)
    told = {"name": given.out.stem, "command": given.command, "machine": given.machine, "commit": given.commit}
    told |= {"date": datetime.fromtimestamp(begun).date().isoformat(), "data": next(iter(run["data"]))}
    told |= {"config": config, "options": run["options"]} | identity(given.run, run, given.multi30k)
    told["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    told["minutes"] = max(row["minutes"] for row in training + validation)
    if given.cpu:
        told["cpu_minutes"] = processor_minutes(given.cpu, begun, ended)
    evaluations = sorted(map(evaluation, given.evaluations), key=lambda e: (e["minutes"], e["part"], e["beam"]))
    told |= {"training": training, "validation": validation, "means": means, "evaluations": evaluations}
    if given.multi30k or given.phrasebook:
        told["test"] = translated(given.run, given)
    return told


def compact(told):
    """As JSON that people can read: what holds nothing but numbers and words stands in one line."""
    text = json.dumps(told, indent=1, ensure_ascii=False)
    innermost = re.compile(r"([\[{])\n([^\[\]{}]*)\n\s*([\]}])")
    return innermost.sub(lambda m: m[1] + re.sub(r"\n\s*", " ", m[2].strip()) + m[3], text) + "\n"


def main(arguments=None):
    """The command line; returns its exit status."""
    add = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add.add_argument("run", type=pathlib.Path)
    add.add_argument("evaluations", type=pathlib.Path, nargs="*")
    for name in ("command", "machine", "commit"):
        add.add_argument(f"--{name}", required=True)
    add.add_argument("--out", type=pathlib.Path, required=True)
    add.add_argument("--cpu", type=pathlib.Path)
    sentences = add.add_mutually_exclusive_group()
    sentences.add_argument("--multi30k", type=pathlib.Path)
    sentences.add_argument("--phrasebook", type=int, metavar="N")
    add.add_argument("--beam", type=int, default=5, help="of the translation made here")
    given = add.parse_args(arguments)
    try:
        told = record(given)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(compact(sealed(told)), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

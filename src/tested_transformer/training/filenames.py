"""The folder of a run: what its files are called, and whether it is free for one."""

from pathlib import Path

RUN = "run.json"  # what was asked for: data, sizes, options
CONFIG, TOKENS, MODEL = "config.json", "tokens.json", "model.safetensors"  # the best
STATE = "last.safetensors"  # everything that going on needs
TRAIN_IDS, VALID_IDS = "train.ids.npy", "valid.ids.npy"  # a text for a Gpt
IDS = TRAIN_IDS, VALID_IDS
BOARD = "tensorboard"  # the folder for its program
LOCK = ".lock"  # held while somebody writes
METRICS, LOG, CURVES = "metrics.jsonl", "log.txt", "curves.png"  # what happened


def epoch_end(epoch: int) -> str:
    """The file with the weights at the end of an epoch."""
    return f"epoch-{epoch:04d}.safetensors"


def check_free(folder: Path, tokens: bytes | None = None) -> None:
    """Refuse a folder that holds a run, or files that a run would write over.

    A failed start leaves little more than run.json, and may be repeated. tokens belong to
    the new run, and may be there already.
    """
    if (folder / STATE).exists():
        rule = "go on with it (--resume, or Trainer.resume), or choose another folder"
        raise ValueError(f"{folder} already holds a run ({STATE}): {rule}")
    found = [name for name in (MODEL, CONFIG, CURVES) if (folder / name).exists()]
    found += [path.name for path in folder.glob("epoch-*.safetensors")]
    if not (folder / RUN).exists():
        found += [name for name in (METRICS, LOG, *IDS) if (folder / name).exists()]
        path = folder / TOKENS
        same = path.is_file() and path.read_bytes() == tokens
        found += [TOKENS] if path.exists() and not same else []
    if found:
        rule = "choose another folder for the run; a model there can be its --init"
        raise ValueError(f"{folder} already holds {found[0]}: {rule}")

"""The folder of a run: what its files are called, and whether it is free for one."""

from pathlib import Path

RUN = "run.json"  # what was asked for: data, sizes, options
CONFIG, TOKENS, MODEL = "config.json", "tokens.json", "model.safetensors"  # the best
STATE = "last.safetensors"  # everything that going on needs
LOCK = ".lock"  # held while somebody writes
METRICS, LOG, CURVES = "metrics.jsonl", "log.txt", "curves.png"  # what happened


def epoch_end(epoch: int) -> str:
    """The file with the weights at the end of an epoch."""
    return f"epoch-{epoch:04d}.safetensors"


def check_free(folder: Path, tokens: bytes | None = None) -> None:
    """Refuse a folder that holds a run, somebody else's model, or other tokens.

    A start that failed has left run.json and tokens.json at most; it can begin again.
    """
    found = [name for name in (STATE, CONFIG, MODEL) if (folder / name).exists()]
    others = tokens is not None and not (folder / RUN).exists()
    if others and (folder / TOKENS).exists():
        found += [TOKENS] if (folder / TOKENS).read_bytes() != tokens else []
    if found:
        rule = "go on with it (resume), or choose another folder"
        raise ValueError(
            f"{folder} already holds a run or a model ({found[0]}): {rule}"
        )

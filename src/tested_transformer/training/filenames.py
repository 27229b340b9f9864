"""The folder of a run: what its files are called."""

RUN = "run.json"  # what was asked for: data, sizes, options
CONFIG, TOKENS, MODEL = "config.json", "tokens.json", "model.safetensors"  # the best
STATE = "last.safetensors"  # everything that going on needs
METRICS, LOG, CURVES = "metrics.jsonl", "log.txt", "curves.png"  # what happened


def epoch_end(epoch: int) -> str:
    """The file with the weights at the end of an epoch."""
    return f"epoch-{epoch:04d}.safetensors"

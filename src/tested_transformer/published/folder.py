"""A folder as Hugging Face publishes it, or a zip of one: JSON, and safetensors."""

import errno
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from tested_transformer import files

WEIGHTS, INDEX, PICKLE = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
)
MODULES, POOLING, LENGTH = (
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
)
POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
"""How sentence-transformers calls what we call so."""
SOURCE_SPM, TARGET_SPM, XLM_R_SPM = (
    "source.spm",
    "target.spm",
    "sentencepiece.bpe.model",
)
TEMPLATE = "chat_template.jinja"
GENERATION = "generation_config.json"
WHAT = "file of a published model"
READ = (
    "config.json",
    MODULES,
    POOLING,
    LENGTH,
    "tokenizer.json",
    "tokenizer_config.json",
    TEMPLATE,
    GENERATION,
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    SOURCE_SPM,
    TARGET_SPM,
    XLM_R_SPM,
    WEIGHTS,
)
"""What is taken out of a zip: nothing else is looked at."""
LARGEST = 2**25
"""So many bytes a file of JSON or text may have; the largest published are of 20 MB."""
RATIO = 100
"""So many times its own size a zip may unpack to."""


class Folder:
    """The files in a folder. Whatever is wrong with one is told with its name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.path / name).exists()

    def text(self, name: str) -> str:
        """The text in a file."""
        path = self._small(name)
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is no UTF-8: {error}") from None

    def content(self, name: str) -> bytes:
        """The bytes of a file of SentencePiece."""
        return self._small(name).read_bytes()

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file."""
        return files.read_json(self._small(name), WHAT)

    def modules(self) -> list[str]:
        """The kinds of modules that sentence-transformers has in a row; none, if it has not."""
        if not self.has(MODULES):
            return []
        text = self.text(MODULES)
        try:
            return [each["type"].split(".")[-1] for each in json.loads(text)]
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            rule = "must be a list of objects, each with a type"
            raise ValueError(f"{self.path / MODULES} {rule}") from None

    def _small(self, name: str) -> Path:
        path = self.path / name
        files.check_readable(path, WHAT)
        if (size := path.stat().st_size) > LARGEST:
            raise ValueError(f"{path} has {size:,} bytes, more than {LARGEST:,}")
        return path

    @contextmanager
    def weights(self) -> Iterator["Weights"]:
        """All tensors: in one file, or in those that the index names."""
        with ExitStack() as stack:
            opened: dict[str, Any] = {}
            for path, names in self._shards().items():
                files.check_name(path)
                files.check_readable(path, "file of weights")
                try:
                    file = stack.enter_context(safe_open(path, "pt"))
                except (SafetensorError, OSError) as error:
                    rule = f"is damaged or no safetensors file: {error}"
                    raise ValueError(f"{path} {rule}") from None
                there = {*file.keys()}
                names = names or there
                if missing := sorted(names - there):
                    found = f"lacks {missing[0]!r:.80}, which {INDEX} has there"
                    raise ValueError(f"{path} {found}")
                if more := sorted(there - names):
                    found = f"has {more[0]!r:.80}, which {INDEX} has not there"
                    raise ValueError(f"{path} {found}")
                opened |= dict.fromkeys(names, file)
            yield Weights(opened)

    def _shards(self) -> dict[Path, set[str]]:
        """Each file of weights, and the tensors that it must have; none: any."""
        if self.has(WEIGHTS):
            return {self.path / WEIGHTS: set()}
        if not self.has(INDEX):
            if any(self.path.glob("*.bin")):
                rule = "which is pickle, and could run programs: it is never read"
                raise ValueError(
                    f"{self.path} has only {PICKLE}, {rule}; look for {WEIGHTS}"
                )
            raise FileNotFoundError(f"no {WEIGHTS} in {self.path}")
        index = self.path / INDEX
        found = self.json(INDEX).get("weight_map")
        if not isinstance(found, dict) or not found:
            raise ValueError(f"{index}: weight_map must name a file for each tensor")
        shards: dict[Path, set[str]] = {}
        for tensor, name in found.items():
            if (
                not isinstance(name, str)
                or Path(name).name != name
                or "\\" in name
                or not name.endswith(".safetensors")
            ):
                rule = "must be the name of a safetensors file in this folder"
                raise ValueError(f"{index}: {name!r:.80} {rule}")
            shards.setdefault(self.path / name, set()).add(tensor)
        return shards


class Weights:
    """Tensors by their published names; each is read when it is asked for."""

    def __init__(self, opened: dict[str, Any]) -> None:
        self._opened = opened
        self.shapes = {
            name: tuple(file.get_slice(name).get_shape())
            for name, file in opened.items()
        }

    def tensor(self, name: str) -> Tensor:
        """One tensor, as it is on the disk."""
        return self._opened[name].get_tensor(name)


@contextmanager
def opened(path: Path) -> Iterator[Folder]:
    """The folder; of a zip, one with what it has, which is gone afterwards."""
    if path.is_dir():
        yield Folder(path)
        return
    with tempfile.TemporaryDirectory() as made:
        try:
            with files.naming(path), zipfile.ZipFile(path) as packed:
                _unpack(packed, path, Path(made))
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            RuntimeError,  # it is encrypted, for example
            ValueError,
        ) as error:
            raise ValueError(f"{path} is damaged or no zip: {error}") from None
        except OSError as error:
            if error.errno != errno.EINVAL:  # that is a place before the first byte
                raise
            raise ValueError(f"{path} is damaged or no zip") from None
        try:
            yield Folder(Path(made))
        except (ValueError, OSError) as error:  # its reader knows of no other place
            raise ValueError(str(error).replace(made, str(path))) from None


def _unpack(packed: zipfile.ZipFile, path: Path, folder: Path) -> None:
    wanted = {i.filename: i for i in packed.infolist() if i.filename in READ}
    size, most = (
        sum(i.file_size for i in wanted.values()),
        RATIO * os.path.getsize(path),
    )
    if size > most:
        raise ValueError(f"it would unpack to {size:,} bytes, more than {most:,}")
    for name, entry in wanted.items():
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is compressed in another way than deflate")
        packed.extract(entry, folder)  # no more than the size it says

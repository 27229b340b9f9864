"""Multi30k: captions of photographs in English and German, as they were published."""

import gzip
import hashlib
import os
import zlib
from pathlib import Path

WHERE = "https://github.com/multi30k/dataset, folder data/task1/raw"
FILES = {  # lines, and the SHA-256 of the compressed file
    "train.en.gz": (
        29_000,
        "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    ),
    "train.de.gz": (
        29_000,
        "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    ),
    "val.en.gz": (
        1_014,
        "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    ),
    "val.de.gz": (
        1_014,
        "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    ),
    "test_2016_flickr.en.gz": (
        1_000,
        "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    ),
    "test_2016_flickr.de.gz": (
        1_000,
        "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    ),
}


def read(folder: str | os.PathLike[str], split: str) -> list[tuple[str, str]]:
    """The pairs (English, German) of "train", "val" or "test_2016_flickr".

    The folder holds the files as published, compressed. A file that is missing or not
    the published one raises an error that says so. Lines stay as they are.
    """
    splits = list(dict.fromkeys(name.split(".")[0] for name in FILES))
    if split not in splits:
        raise ValueError(f"split ({split!r}) must be one of {', '.join(splits)}")
    english, german = (_lines(Path(folder) / f"{split}.{x}.gz") for x in ("en", "de"))
    return list(zip(english, german, strict=True))


def _lines(path: Path) -> list[str]:
    """The lines of one file, after looking whether it is the one that was published."""
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is missing: get it from {WHERE}") from None
    wanted, digest = FILES[path.name]
    try:
        text = gzip.decompress(packed).decode("utf-8")
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}): get it from {WHERE}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error})") from None
    lines = text.removesuffix("\n").split("\n")
    if len(lines) != wanted:
        raise ValueError(f"{path} has {len(lines)} lines, {wanted} were published")
    found = hashlib.sha256(packed).hexdigest()
    if found != digest:
        rule = f"the published file has {digest}: get it from {WHERE}"
        raise ValueError(f"{path} has the SHA-256 {found}, {rule}")
    return lines

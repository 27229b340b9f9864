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


UNLISTED = "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr"
"""Later test sets of the same folder, whose checksums we do not know."""
PARTS = "train", "val", "test_2016_flickr", *UNLISTED


def read(folder: str | os.PathLike[str], split: str) -> list[tuple[str, str]]:
    """The pairs (English, German) of "train", "val" or one of the test sets in `PARTS`.

    The folder holds the files as published, compressed. Those in `FILES` are held
    against their published number of lines and a checksum: another file raises an error
    that says so. Of the test sets in `UNLISTED` we know neither. There, both files must
    be whole and UTF-8, and have equally many lines, which proves nothing about the
    words. Lines stay as they are.
    """
    if split not in PARTS:
        raise ValueError(f"split ({split!r}) must be one of {', '.join(PARTS)}")
    paths = [Path(folder) / f"{split}.{language}.gz" for language in ("en", "de")]
    english, german = map(_lines, paths)
    if len(english) != len(german):
        rule = f"{paths[0]} has {len(english)} lines, {paths[1]} has {len(german)}"
        raise ValueError(f"{rule}: get them from {WHERE}")
    return list(zip(english, german, strict=True))


def _lines(path: Path) -> list[str]:
    """The lines of one file, as far as can be told the one that was published."""
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is missing: get it from {WHERE}") from None
    try:
        text = gzip.decompress(packed).decode("utf-8")
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}): get it from {WHERE}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error})") from None
    lines = text.removesuffix("\n").split("\n")
    if path.name in FILES:
        _check_published(path, packed, len(lines))
    return lines


def _check_published(path: Path, packed: bytes, found: int) -> None:
    """Refuse a file of `FILES` with other lines or other bytes than were published."""
    wanted, digest = FILES[path.name]
    if found != wanted:
        raise ValueError(f"{path} has {found} lines, {wanted} were published")
    if (sha := hashlib.sha256(packed).hexdigest()) != digest:
        rule = f"the published file has {digest}: get it from {WHERE}"
        raise ValueError(f"{path} has the SHA-256 {sha}, {rule}")

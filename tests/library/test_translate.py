"""From sentences to sentences: the translator, what it looks at, and the commands translate and evaluate."""

import io
import json
import re
from html.parser import HTMLParser

import pytest
import torch
from helpers import unchecked

from tested_transformer.__main__ import main, parser
from tested_transformer.command.arguments import load_translator
from tested_transformer.command.evaluate import scores
from tested_transformer.command.page import Seen, attention_page
from tested_transformer.config import Config
from tested_transformer.decoding.attention_weights import attention_weights
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.attention import attention
from tested_transformer.model.heads import split_heads
from tested_transformer.model.masks import causal_mask, padding_mask
from tested_transformer.model.transformer import Transformer
from tested_transformer.phrasebook import corpus
from tested_transformer.text.tokens import BytePairEncoding
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


def test_the_page_of_attention_has_every_sentence(tmp_path, capsys):
    (tmp_path / "a.en").write_text("I drink tea.\n\nIs the friend helping me?\n", encoding="utf-8")
    assert main(["translate", str(tmp_path / "a.en"), "--attention", str(tmp_path / "a.html")]) == 0
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    Reader(page)
    assert page.count("<h2>") == 2
    assert "Ich trinke Tee." in page
    assert "Hilft mir der Freund?" in page


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_a_command_searches_as_it_was_told(command):
    given = parser().parse_args([command, "--beam", "3", "--alpha", "0.25", "--device", "cpu"])
    found = load_translator(given)
    assert (found.width, found.alpha, found.model.embedding.weight.device.type) == (3, 0.25, "cpu")
    as_a_rule = load_translator(parser().parse_args([command]))
    assert (as_a_rule.width, as_a_rule.alpha) == (4, 0.6)


def test_scores_are_those_of_sacrebleu_with_its_signature():
    right = ["Der alte Mann liest ein gutes Buch.", "Ich trinke Tee."]
    numbers = scores(right, right)
    assert (numbers["exact"], numbers["BLEU"], numbers["chrF2"]) == (1.0, 100.0, 100.0)
    assert re.match(r"nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:", numbers["BLEU signature"])
    numbers = scores(["Der alte Mann liest gutes Buch.", "Ich trinke Tee."], right)
    assert numbers["exact"] == 0.5
    assert 50 < numbers["BLEU"] < 100


def test_evaluate_prints_and_writes_the_scores(tmp_path, capsys):
    (tmp_path / "a.en").write_text("\n".join(KNOWN) + "\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("\n".join(KNOWN.values()) + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "a.en"), "--target", str(tmp_path / "a.de")]
    assert main(["evaluate", *files, "--out", str(tmp_path / "a.json")]) == 0
    assert re.search(r"^exact +1.0$", capsys.readouterr().out, re.M)
    numbers = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (numbers["sentences"], numbers["beam"], numbers["exact"]) == (4, 4, 1.0)


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
    assert "No such file" in refused("translate", tmp_path / "none.en")
    assert "is a folder" in refused("translate", tmp_path / "a.en", "--attention", tmp_path)
    assert "width (0) must be at least 1" in refused("translate", tmp_path / "a.en", "--beam", 0)
    assert "give --source with --target" in refused("evaluate")
    assert "belong together" in refused("evaluate", "--source", tmp_path / "a.en")
    both = ("--source", tmp_path / "a.en", "--target", tmp_path / "a.en")
    assert "give --source with --target" in refused("evaluate", *both, "--phrasebook")


def test_a_text_is_read_by_the_tokeniser_of_its_model():
    tokens = BytePairEncoding([])
    model = Transformer(Config(tokens.vocab_size, 16, 16, 2, 1, max_len=16))
    assert Translator(model, tokens).encode(" ab ", 1) == [*tokens.encode("ab"), 2]

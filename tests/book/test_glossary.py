"""The glossary, held against its guards, and each fault planted."""

import glossary
import numpy as np
import pytest
import torch
import tracing
from guards import BOOK

from tested_transformer.book import pretrained
from tested_transformer.book.coreference import FRAMES, RUNNING, THINGS
from tested_transformer.decoding.sampling import keep_top_p
from tested_transformer.text.tokens import UNK, BytePairEncoding, Vocabulary

PAGE = BOOK / "glossary.md"


def test_every_term_has_its_own_definition():
    assert list(glossary.out_of_order(PAGE)) == []


def test_every_term_is_spoken_of_where_its_definition_links_to():
    assert list(glossary.misplaced(PAGE)) == []
    assert sum(map(len, glossary.blocks(PAGE))) > 180


def shares(*logits, temperature=1.0):
    return (torch.tensor(logits) / temperature).softmax(0)


def temperature_keeps_the_order():
    cold, warm, hot = (shares(3.0, 2.0, 0.0, temperature=t) for t in (0.5, 1.0, 2.0))
    assert cold.argsort().equal(hot.argsort())
    assert cold[0] > warm[0] > hot[0]


def a_sigmoid_is_bounded_and_gelu_is_not():
    x = torch.tensor([-100.0, 0.0, 100.0])
    assert x.sigmoid().min() >= 0
    assert x.sigmoid().max() <= 1
    assert torch.nn.functional.gelu(x).max() == 100


def a_nucleus_may_hold_more_than_p():
    logits = torch.tensor([0.5, 0.3, 0.2]).log()
    kept = logits.softmax(0)[keep_top_p(logits, 0.6) > -torch.inf]
    assert torch.allclose(kept, torch.tensor([0.5, 0.3]))


def typed_tokens_may_be_unknown_only():
    typed = "<pad> <bos> <eos>"
    assert min(BytePairEncoding.train([typed], 30).encode(typed)) > UNK
    assert Vocabulary(["tea"]).encode(["tea", "<eos>", "coffee"]) == [UNK + 1, UNK, UNK]


def independent_words_share_nothing():
    counts = np.outer([1, 2, 3], [4, 5, 6])  # each pair as often as chance would have it
    chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    assert np.allclose(np.log(counts / chance), 0)
    assert not np.allclose(np.log(counts) / chance, 0)  # the logarithm is of the quotient


@pytest.mark.parametrize(
    ("term", "said", "holds"),
    [
        ("temperature", "Which of two tokens is likelier never changes", temperature_keeps_the_order),
        ("gate, gated feed-forward network", "have no upper bound", a_sigmoid_is_bounded_and_gelu_is_not),
        ("nucleus, top-p", "at least $p$", a_nucleus_may_hold_more_than_p),
        ("special token", "one of the first three", typed_tokens_may_be_unknown_only),
        ("pointwise mutual information (PMI)", "The logarithm of a ratio", independent_words_share_nothing),
    ],
)
def test_what_a_definition_claims_can_be_computed(term, said, holds):
    meanings = dict(entry for block in glossary.blocks(PAGE) for entry in block)
    assert said in meanings[term]
    holds()


def test_the_facts_that_come_back_are_those_of_the_model_and_the_sentences():
    card = PAGE.read_text(encoding="utf-8").split("## Before attention")[0]
    translator = pretrained.load()
    config = translator.model.config
    assert (config.n_layers, config.n_heads, config.d_model) == (2, 4, 128)
    assert f"{sum(p.numel() for p in translator.model.parameters()):,} numbers" in card
    assert f"{len(THINGS)} nouns, each in six frames" in card
    assert len(FRAMES) == 6
    assert f"the {6 * len(THINGS)} sentences" in card
    assert "Head 3 of the encoder's second layer" in card
    said = [phrase.german.split() for phrase in RUNNING]
    assert f"*{RUNNING[0].german}*" in card
    for article, pronoun in ((s[2], s[5]) for s in said[1:]):
        assert f"*{article}*" in card
        assert f"*{pronoun}*" in card
    assert [translator.translate([phrase.english])[0] for phrase in RUNNING] == [s.german for s in RUNNING]


GLOSSARY = """# Glossary

```{glossary}
byte
  A number.

  Of 256.

LSTM, GRU
  Two networks.

mask (M)
  A cover.
```
"""


def test_a_glossary_in_order_has_no_faults(tmp_path):
    (tmp_path / "page.md").write_text(GLOSSARY, encoding="utf-8")
    assert list(glossary.out_of_order(tmp_path / "page.md")) == []


@pytest.mark.parametrize(
    ("right", "wrong", "found"),
    [
        ("LSTM, GRU\n", "leak\nLSTM, GRU\n", "leak has no definition of its own"),
        ("  Two networks.\n", "", "LSTM, GRU has no definition of its own"),
        ("  A cover.\n", "", "mask (M) has no definition of its own"),
        ("Two networks", "A cover", "mask (M) has the definition of LSTM, GRU"),
        ("byte\n", "mascot\n", "LSTM, GRU stands behind mascot"),
        ("LSTM, GRU", "Byte", "Byte stands behind byte"),
    ],
)
def test_a_term_without_its_own_definition_is_found(tmp_path, right, wrong, found):
    assert GLOSSARY.count(right) == 1
    (tmp_path / "page.md").write_text(GLOSSARY.replace(right, wrong), encoding="utf-8")
    assert list(glossary.out_of_order(tmp_path / "page.md")) == [f"page.md: {found}"]


def test_a_glossary_in_another_fence_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"{GLOSSARY}\n````{{glossary}}\nend\n  Nothing comes.\n````\n", encoding="utf-8")
    assert list(map(len, glossary.blocks(page))) == [3, 1]
    for fence in ("````{div}\n```{glossary}\nend\n  All.\n```\n````\n", ":::{glossary}\nend\n  All.\n:::\n"):
        page.write_text(f"{GLOSSARY}\n{fence}", encoding="utf-8")
        with pytest.raises(ValueError, match=r"page\.md: 2 glossaries, 1 of them in a fence of its own"):
            glossary.blocks(page)


@pytest.mark.parametrize(
    ("term", "section", "found"),
    [
        ("masked language model", "Masked *language* models", True),
        ("byte-pair encoding (BPE)", "What BPE does", True),
        ("LSTM, GRU", "A GRU", True),
        ("d_ff", r"$d_{\text{ff}}$", True),
        ("vanishing and exploding gradients", "gradients vanish or explode", True),
        ("masked language model", "a language model", False),
        ("head", "ahead of all", False),
    ],
)
def test_a_section_speaks_of_a_term_if_it_has_its_words(tmp_path, term, section, found):
    tracing.sections.cache_clear()
    page, linked = tmp_path / "page.md", tmp_path / "there.md"
    linked.write_text(f"# T\n\n## A\n\n{section}\n\n## B\n\n{term}\n", encoding="utf-8")
    page.write_text(f"```{{glossary}}\n{term}\n  See [it](there.md#a).\n```\n", encoding="utf-8")
    fault = f"page.md: no section that {term} links to speaks of it"
    assert list(glossary.misplaced(page)) == [fault] * (not found)

"""What a search could be told: it is what the model says, and enough for every beam."""

import numpy as np
import pytest
import torch
from helpers import BOS, EOS, PAD, scripted

from tested_transformer.book import search_tree
from tested_transformer.decoding.beam import beam
from tested_transformer.decoding.exhaustive import exhaustive

SOURCE, MOST = torch.tensor([[3, 4, EOS]]), 4


@pytest.fixture(params=range(3))
def model(request):
    p = np.random.default_rng(request.param).dirichlet(np.full(6, 0.5), size=(MOST + 1, 6))
    return scripted(p).double()


def test_likely_beginnings_have_the_probability_that_all_their_sentences_have_together(model):
    found = search_tree.likely(model, SOURCE, least=0.02, most=3)
    every = exhaustive(model, SOURCE, 0.0, MOST)[0]
    unwanted = {PAD, BOS}
    for path, p in found.items():
        assert len(path) <= 3
        if not unwanted & {*path} and path[-1] == EOS:
            assert p == pytest.approx(sum(np.exp(h.log_probability) for h in every if h.ids == path))
        assert p >= 0.02
        assert path[:-1] in found or len(path) == 1
    first = [path for path in found if len(path) == 1]
    assert first == sorted(first, key=lambda path: -found[path])
    ends = [h for h in every if np.exp(h.log_probability) >= 0.02 and len(h.ids) <= 3]
    assert {h.ids for h in ends if h.ids[-1] == EOS} <= set(found)


def test_the_probabilities_of_the_next_token_are_those_that_the_likely_beginnings_are_multiplied_of(model):
    found = search_tree.likely(model, SOURCE, least=0.0, most=2)
    for begun in [(), *(path for path in found if len(path) == 1 and path != (EOS,))]:
        p = search_tree.following(model, SOURCE, begun)
        assert p.sum().item() == pytest.approx(1)
        assert not p.requires_grad
        after = {path[-1]: share for path, share in found.items() if path[:-1] == begun and len(path) > len(begun)}
        assert {i: found.get(begun, 1.0) * p[i].item() for i in after} == pytest.approx(after)


def test_what_follows_a_beginning_is_named_without_it(model):
    whole = search_tree.likely(model, SOURCE, least=0.0, most=2)
    (begun,) = max((path for path in whole if len(path) == 1 and path != (EOS,)), key=whole.get)
    after = search_tree.likely(model, SOURCE, least=0.0, most=1, begun=(begun,))
    for path, p in after.items():
        assert p * whole[(begun,)] == pytest.approx(whole[(begun, *path)])


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_beam_finds_in_these_answers_what_it_finds_in_the_model(model, width):
    rows = search_tree.asked(model, SOURCE, 3, MOST)
    assert all(PAD not in row and BOS not in row for row in rows.values())
    for h in beam(model, SOURCE, width, 0.6, MOST)[0]:
        steps = [rows[h.ids[:n]][token] for n, token in enumerate(h.ids)]
        assert sum(steps) == pytest.approx(h.log_probability)


def test_rows_can_be_named():
    assert search_tree.named({(): {0: -1.0, 1: -2.0}, (1,): {0: 0.0}}, "ab") == {
        (): {"a": -1.0, "b": -2.0},
        ("b",): {"a": 0.0},
    }

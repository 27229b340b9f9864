"""A decoder, step by step: what moved is what differs, and the costs are those of the executed steps."""

import itertools

import numpy as np
import pytest
import torch
from helpers import lively

from tested_transformer.book import cached_decoding, pretrained
from tested_transformer.book.coreference import RUNNING
from tested_transformer.book.cost import multiplications
from tested_transformer.book.interventions import unmasked


@pytest.fixture(scope="module")
def translator():
    return pretrained.load()


def test_without_the_mask_what_moved_is_what_two_runs_differ_by(translator):
    sentence, n = RUNNING[1], 5
    tokens, moved = cached_decoding.changed(translator, sentence, n, layer=2, mask="future")
    assert (tokens[0], tokens[1], len(tokens)) == ("<bos>", "Ich", n)
    assert np.array_equal(moved, np.tril(moved, -1))
    heads, seen = translator.model.decoder.layers[1].self_attention, []
    hooks = [w.register_forward_hook(lambda _, x, y: seen.append(y[0])) for w in (heads.w_k, heads.w_v)]
    source = torch.tensor([translator.encode(sentence.english, 1)])
    ids = [1, *translator.tokens.encode(sentence.german)]
    with unmasked(translator, "future"), torch.no_grad():
        memory = translator.model.encode(source)
        for t in (3, 4):
            translator.model.decode(torch.tensor([ids[:t]]), memory, source)
    for hook in hooks:
        hook.remove()
    keys, values = ((after[:3] - before).abs().amax(-1) for before, after in zip(seen[:2], seen[2:], strict=True))
    assert moved[3, :3] == pytest.approx(torch.maximum(keys, values).tolist())
    assert not heads.w_k._forward_pre_hooks


def test_with_the_mask_nothing_moves(translator):
    _, moved = cached_decoding.changed(translator, RUNNING[0], 4, layer=2)
    assert moved.max() < 1e-12


def test_costs_are_those_of_the_model_called_and_a_cached_step_grows_by_one_token():
    model, source = lively(0, vocab_size=6).eval(), torch.tensor([[3, 4, 5, 2]])
    without, cached = cached_decoding.costs(model, source, 4)
    c, memory = model.config, model.encode(source)
    states = multiplications(model.decode, torch.tensor([[1, 1, 1]]), memory, source)
    assert without[2] == states + c.d_model * c.vocab_size
    grows = c.n_layers * c.n_heads * (c.d_k + c.d_v)
    assert [b - a for a, b in itertools.pairwise(cached[1:])] == [grows] * 2
    of_memory = c.n_layers * source.size(1) * c.d_model * c.n_heads * (c.d_k + c.d_v)
    assert cached[0] == of_memory + cached[1] - grows
    assert without[0] > cached[1]


def test_the_bill_adds_up_to_what_was_counted():
    model, source = lively(0, vocab_size=6).eval(), torch.tensor([[3, 4, 5, 2]])
    without, cached = cached_decoding.costs(model, source, 6)
    *parts, whole = cached_decoding.bill(model.config, without, cached, 6).values()
    assert [sum(column) for column in zip(*parts, strict=True)] == list(whole)
    assert whole == (without[5], cached[5], sum(without), sum(cached))
    rows, looks, logits, memory = parts
    look = cached[2] - cached[1]
    assert looks == (36 * look, 6 * look, 91 * look, 21 * look)
    assert rows == (6 * rows[1], rows[1], 21 * rows[1], 6 * rows[1])
    assert logits == (logits[0], logits[0], 6 * logits[0], 6 * logits[0])
    assert memory == (memory[0], 0, 6 * memory[0], memory[0])

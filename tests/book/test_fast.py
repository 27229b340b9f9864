"""The chapter on cheap answers: two models that write together, seats of a server, what is carried, and records."""

from itertools import pairwise

import fast as tool
import numpy as np
import pytest
import torch
from guards import BOOK
from hypothesis import given
from hypothesis import strategies as st

from tested_transformer.book import drafts, serving, slow_memory
from tested_transformer.book.small import language_model
from tested_transformer.byhand.attention import attention
from tested_transformer.decoding.conversation import stream
from tested_transformer.files import read_json
from tested_transformer.text.tokens import BOS, EOS

RESULTS = BOOK / "results"


@pytest.fixture(scope="module")
def pair():
    return drafts.kept(RESULTS / "fast.safetensors")


def test_the_pair_writes_what_the_large_model_writes_alone(pair):
    begun = [BOS, *pair.vocabulary.encode(["this", "tired", "boy"])]
    rounds = drafts.likeliest(pair, begun, 3)
    text = [i for r in rounds for i in r.settled]
    assert text == [*stream(pair.large, begun, {EOS}, drafts.MAX_LEN, top_k=1)]
    written = [*begun]
    for r in rounds:
        assert len(r.drafted) == 3
        assert r.drafted == [*stream(pair.draft, written, (), len(written) + 3, top_k=1)]
        *kept, _ = r.settled
        assert kept == r.drafted[: len(kept)]
        written += r.settled
    assert max(len(r.settled) for r in rounds) > 1
    leads = []
    for n in range(len(begun), len(written)):
        likely = pair.large(torch.tensor([written[:n]]))[0, -1].softmax(-1).topk(2).values
        leads.append(likely[0] - likely[1])
    assert language_model.smallest_lead(pair.large, written, len(begun)) == pytest.approx(min(leads).item())
    assert language_model.smallest_lead(pair.large, [*written[:-1], 9], len(begun)) < 0


def test_a_training_begins_as_the_kept_one_did(monkeypatch):
    monkeypatch.setattr(drafts, "STEPS", 101)
    phrases = language_model.read()
    monkeypatch.setattr(language_model, "read", lambda: phrases)  # each time the same ones
    one, same, other = (drafts.trained("draft", seed) for seed in (0, 0, 1))
    assert all(name.startswith("draft.") for name in one)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["draft.tokens.weight"], other["draft.tokens.weight"])


def test_some_words_and_all_others_are_everything(pair):
    p, q = drafts.following(pair, [BOS, *pair.vocabulary.encode(["the", "dog"])])
    names, *rows = drafts.with_others(pair, p, q, p.topk(3).indices)
    assert len(names) == 4
    assert names[-1] == "all others"
    assert rows[0][:3].tolist() == p.topk(3).values.tolist()
    for row, whole in zip(rows, (p, q, torch.minimum(p, q)), strict=True):
        assert row.sum().item() == pytest.approx(whole.sum().item(), abs=1e-12)
    assert (rows[2] <= torch.minimum(*rows[:2]) + 1e-12).all()


LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=12)


@given(lengths=LENGTHS, seats=st.integers(1, 5))
def test_everybody_is_served_once_and_no_seat_is_taken_twice(lengths, seats):
    for way in (serving.in_groups, serving.one_by_one):
        rides = way(lengths, seats)
        assert [ride.who for ride in rides] == [*range(len(lengths))]
        assert [ride.end - ride.start for ride in rides] == lengths
        for seat in range(seats):
            its = sorted((r.start, r.end) for r in rides if r.seat == seat)
            assert all(end <= start for (_, end), (start, _) in pairwise(its))
        assert {ride.seat for ride in rides} <= {*range(seats)}
        assert serving.taken(rides, seats) == pytest.approx(sum(lengths) / seats / serving.calls(rides))
        assert serving.calls(rides) >= sum(lengths) / seats
    in_turn = serving.one_by_one(lengths, seats)
    assert serving.calls(in_turn) <= serving.calls(serving.in_groups(lengths, seats))
    for ride in in_turn:  # whoever waits, waits for a full house
        assert ride.start == 0 or sum(r.start < ride.start <= r.end for r in in_turn) >= seats


def test_what_is_carried_is_counted_number_by_number_and_must_fit():
    memory = slow_memory.SlowMemory({"q": np.zeros((5, 2))}, room=6)
    assert memory.read("q", slice(1, 3)).shape == (2, 2)
    memory.write("q", np.ones((3, 1)), slice(2, 5), slice(1, 2))
    assert memory.carried == 4 + 3
    assert memory.arrays["q"].tolist() == [[0, 0]] * 2 + [[0, 1]] * 3
    for carry in (lambda: memory.read("q"), lambda: memory.write("q", np.ones((5, 2)))):
        with pytest.raises(ValueError, match="10 numbers don't fit into a room for 6"):
            carry()
    assert memory.carried == 7


@pytest.mark.parametrize("tile", [1, 2, 4, 6, 9])
def test_one_step_and_three_steps_give_the_same_attention(tile):
    arrays = dict(zip("qkv", np.random.default_rng(0).normal(size=(3, 6, 2)), strict=True))
    three, one = (slow_memory.SlowMemory(arrays, room=max(6, tile * tile, 2 * tile)) for _ in range(2))
    slow_memory.in_three_steps(three, tile)
    slow_memory.in_one_step(one, tile)
    wanted = attention(*arrays.values())[0]
    for memory in (three, one):
        np.testing.assert_allclose(memory.arrays["out"], wanted, rtol=0, atol=1e-12)
    assert "scores" not in one.arrays
    parts = -(-6 // tile)
    assert one.carried == 12 + 12 + 2 * 12 * parts
    assert three.carried == one.carried + 4 * 36


def test_the_record_is_as_the_tool_writes_it():
    record = read_json(RESULTS / "fast.json", "record of times")
    for name, times in record["milliseconds"].items():
        assert [*map(int, times)] == [*tool.TOKENS], name
    assert record["written"]["tokens"] == 64


def test_the_tool_trains_and_times(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(tool, "RESULTS", tmp_path)
    monkeypatch.setattr(drafts, "trained", lambda name: {f"{name}.a": torch.ones(2, 3)})
    assert tool.main(["models"]) == 0
    assert (tmp_path / "fast.safetensors").is_file()
    monkeypatch.setattr(tool, "times", made.append)
    assert tool.main(["times", "--machine", "mine"]) == 0
    assert made == ["mine"]

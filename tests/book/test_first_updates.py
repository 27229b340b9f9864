"""The valley, and the first steps of the translator: rules that are known, on data that are small."""

import json
from functools import partial

import numpy as np
import pytest
import torch

from tested_transformer.book import first_updates, optimisers, pretrained
from tested_transformer.decoding.translator import PHRASEBOOK

RULES = optimisers.sgd, optimisers.momentum, optimisers.rms, optimisers.adam_rule


def descend(w, g, state, step, rate):
    return w - rate * g, state


def heavy(w, g, state, step, rate):
    m = 0.9 * state[0] + 0.1 * g
    return w - rate * m, np.array([m, state[1]])


def test_a_walk_begins_at_the_start_and_follows_its_rule():
    path = optimisers.walk(partial(descend, rate=0.01), 3)
    assert path == pytest.approx(optimisers.START * (1 - 0.01 * optimisers.CURVATURE) ** np.arange(4)[:, None])
    assert optimisers.height(np.array([2.0, 0.0])) == 2
    assert optimisers.height(np.array([[0.0, 1.0]])).tolist() == [50]
    assert optimisers.gradient(optimisers.START).tolist() == [-8, 100]


def test_a_steeper_valley_is_one_with_a_larger_rate():
    steep, fast = optimisers.steeper(partial(descend, rate=0.001), times=10), partial(descend, rate=0.01)
    assert optimisers.walk(steep) == pytest.approx(optimisers.walk(fast))


def test_rules_stay_in_the_valley_up_to_the_rate_that_algebra_says():
    assert optimisers.largest_rate(descend) == pytest.approx(2 / 100, abs=0.001)
    assert optimisers.largest_rate(heavy) == pytest.approx(2 * 1.9 / 0.1 / 100, abs=0.001)


def test_gradient_descent_does_not_care_how_the_valley_lies_and_adam_does():
    for steep in (1, 100):
        rule = partial(descend, rate=1.8 / steep)
        plain = optimisers.walk(optimisers.across(rule, steep / 100))
        assert optimisers.turned(rule, steep) == pytest.approx(plain, abs=1e-9)
    assert optimisers.turned(optimisers.adam_rule, 100)[-1, 0] < optimisers.walk(optimisers.adam_rule)[-1, 0] - 4


def test_the_first_step_of_rms_is_seven_rates_and_that_of_adam_one():
    first = {rule: np.abs(np.diff(optimisers.walk(partial(rule, rate=0.1), 1), axis=0)) for rule in RULES}
    assert first[optimisers.rms] == pytest.approx(0.1 / np.sqrt(0.02))
    assert first[optimisers.adam_rule] == pytest.approx(0.1)
    assert first[optimisers.momentum] == pytest.approx(0.1 * first[optimisers.sgd])


def test_the_rare_number_is_pulled_in_every_fiftieth_step():
    assert optimisers.pulled(partial(descend, rate=1), 100, every=50)[[48, 49, 99]].tolist() == [
        [49, 0],
        [50, 1],
        [100, 2],
    ]


@pytest.fixture(scope="module")
def translator():
    return pretrained.load()


@pytest.fixture(scope="module")
def several(translator):
    return first_updates.phrases(translator, 2)


def test_batches_are_as_large_as_in_the_training_of_the_model(several):
    run = json.loads((PHRASEBOOK / "run.json").read_text(encoding="utf-8"))
    assert run["options"]["batch_tokens"] == first_updates.BATCH_TOKENS
    assert len(several) == 2
    assert all(side.numel() <= first_updates.BATCH_TOKENS for batch in several for side in batch)
    assert all(target[:, 0].eq(1).all() for _, target in several)


def test_a_typical_gradient_is_a_root_mean_square(translator, several):
    model = first_updates.untrained(translator)
    typical, _ = first_updates.typical_gradients(model, several)
    squares = 0
    for batch in several:
        first_updates.backward(model, batch)
        squares = squares + model.encoder.layers[0].self_attention.w_q.weight.grad ** 2
    assert np.allclose(typical["encoder.layers.0.self_attention.w_q.weight"] ** 2, squares / 2)
    kinds = first_updates.by_kind(dict.fromkeys(typical, 1.0))
    assert sum(map(len, kinds.values())) == len(typical)
    assert kinds["table"] == [("shared table", 1.0)]


def test_the_two_uses_of_the_table_make_up_its_gradient(translator, several):
    model = first_updates.untrained(translator)
    ids = first_updates.ids_of(translator, [" the", "Q"])
    the, never = first_updates.typical_gradients(model, several[:1])[1][ids]
    first_updates.backward(model, several[0])
    whole = model.embedding.weight.grad[ids].norm(dim=1).numpy()
    assert never[0] == 0
    assert never[1] == pytest.approx(whole[1])
    assert abs(the[0] - the[1]) < whole[0] < the[0] + the[1]
    assert first_updates.how_often(several, translator.model.config.vocab_size)[ids].tolist() == [2, 0]


def test_a_step_of_descent_goes_against_the_gradient(translator, several):
    learned = first_updates.learn(translator, several[:1], partial(torch.optim.SGD, lr=0.5))
    model = first_updates.untrained(translator, torch.float32)
    loss = first_updates.backward(model, several[0])
    assert learned.losses == [loss]
    assert np.allclose(learned.moved, -0.5 * model.embedding.weight.grad.numpy(), atol=1e-7)


def test_rows_of_the_table_can_have_rates_of_their_own(translator, several):
    rule = partial(torch.optim.SGD, lr=0.5)
    times = np.ones(translator.model.config.vocab_size)
    times[5] = 3
    plain, own = (first_updates.learn(translator, several[:1], rule, n) for n in (1.0, times))
    assert np.allclose(own.moved, times[:, None] * plain.moved, atol=1e-7)
    weights = zip(plain.model.named_parameters(), own.model.parameters(), strict=True)
    assert all(torch.equal(w, v) for (name, w), v in weights if not name.startswith("embedding"))


def test_what_learns_alone_learns_as_in_the_whole_and_the_rest_stays(translator, several):
    rule = partial(torch.optim.SGD, lr=0.5)
    rows = np.zeros(translator.model.config.vocab_size, dtype=bool)
    frozen = first_updates.alone(translator, several, rule, "embedding", rows)
    fresh = first_updates.untrained(translator, torch.float32)
    assert frozen == [first_updates.backward(fresh, batch) for batch in several]
    assert first_updates.alone(translator, several, rule) == first_updates.learn(translator, several, rule).losses
    assert frozen[0] == first_updates.alone(translator, several, rule, "norm.")[0]
    assert len(first_updates.alone(translator, [several[0]] * 5, partial(torch.optim.SGD, lr=1e4))) == 2


def test_a_sweep_has_the_last_losses_of_each_part_at_each_rate(translator, several):
    rows = np.arange(translator.model.config.vocab_size) < 10
    parts = first_updates.parts(rows)
    assert list(parts) == ["the whole model", "10 rows", "the other rows"]
    some = {"10 rows": parts["10 rows"], "the norms": {"word": "norm."}}
    found = first_updates.sweep(translator, batches := [*several] * 4, torch.optim.SGD, (0.5,), some)
    rule = partial(torch.optim.SGD, lr=0.5)
    by_rows = first_updates.alone(translator, batches, rule, "embedding", rows)
    by_norms = first_updates.alone(translator, batches, rule, "norm.")
    assert len(by_rows) == len(by_norms) > 5
    means = [np.float32(losses[-5:]).mean() for losses in (by_rows, by_norms)]
    assert found == {"10 rows": {0.5: means[0]}, "the norms": {0.5: means[1]}}
    everything = {"everything": {}}
    too_fast = first_updates.sweep(translator, [several[0]] * 3, torch.optim.SGD, (1e4,), everything)
    assert too_fast == {"everything": {1e4: 100}}, "higher than any picture"


def test_a_valley_steeper_across_leaves_the_way_along_as_it_is():
    rule = partial(descend, rate=0.001)
    plain, steep = optimisers.walk(rule), optimisers.walk(optimisers.across(rule, 5))
    assert plain[:, 0] == pytest.approx(steep[:, 0])
    assert steep[:, 1] == pytest.approx((1 - 0.001 * 500) ** np.arange(51))

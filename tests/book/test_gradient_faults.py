"""Wrong gradients: each fault changes what it says and nothing else, and the steps are those of the rules."""

import numpy as np
import pytest

from tested_transformer.book import gradient_faults
from tested_transformer.byhand import addnorm
from tested_transformer.byhand.training import SIZES
from tested_transformer.byhand.transformer import create_params, transformer, transformer_backward
from tested_transformer.config import TINY

D = {"a.w_2.weight": np.arange(6.0).reshape(2, 3), "a.w_2.bias": np.ones(2), "b.weight": np.ones((2, 2))}


def changed(fault):
    after = fault(D)
    assert after.keys() == D.keys()
    return {name for name, g in D.items() if not np.array_equal(after[name], g)}


def test_a_fault_changes_the_gradients_that_it_names():
    assert changed(gradient_faults.times(1)) == set()
    assert changed(gradient_faults.times(7)) == set(D)
    assert changed(gradient_faults.times(-1, "w_2.weight")) == {"a.w_2.weight"}
    assert changed(gradient_faults.means) == {"a.w_2.bias"}
    assert np.array_equal(gradient_faults.transposed("a.w_2.weight")(D)["a.w_2.weight"], D["a.w_2.weight"].T)
    assert gradient_faults.means(D)["a.w_2.bias"] == pytest.approx([1 / 40, 1 / 40])


def test_descent_sees_a_factor_and_adam_does_not():
    for step, seen in ((gradient_faults.by_adam(), False), (gradient_faults.downhill(), True)):
        right, wrong = (gradient_faults.sixty(gradient_faults.times(factor), step) for factor in (1, 7))
        assert right.shape == (60,)
        assert (gradient_faults.largest_share(wrong, right) > 0.1) == seen


def test_adam_moves_as_far_for_gradients_of_another_scale():
    assert gradient_faults.moves([2, 1, -1]) == pytest.approx(gradient_faults.moves([20, 10, -10]))
    assert gradient_faults.moves([5])[0] == pytest.approx(1)


def test_an_untrained_model_writes_nothing_right():
    assert gradient_faults.right_of(5, create_params(SIZES, np.random.default_rng(0))) == 0


def test_forgetful_norms_hand_back_as_if_their_factors_were_1():
    rng = np.random.default_rng(0)
    params = {n: w + rng.normal(size=w.shape) / 10 for n, w in create_params(TINY, rng).items()}
    logits, saved = transformer(gradient_faults.COPIED, gradient_faults.COPIES[:, :-1], params, TINY)
    d_logits = rng.normal(size=logits.shape)
    right = transformer_backward(d_logits, saved)
    with gradient_faults.forgetful_norms():
        wrong = transformer_backward(d_logits, saved)
    assert all(np.array_equal(d, right[n]) for n, d in transformer_backward(d_logits, saved).items())
    seen = {n for n in right if not np.allclose(right[n], wrong[n])}
    last = f"decoder.layers.{TINY.n_layers - 1}.addnorm_3.norm"
    assert {f"{last}.weight", f"{last}.bias"}.isdisjoint(seen)  # behind it no norm has been passed
    assert "encoder.layers.0.self_attention.w_v.weight" in seen
    d_y, x, factors = rng.normal(size=(3, 2, 4))
    plain = addnorm.layer_norm_backward(d_y, x, np.ones(4))
    with gradient_faults.forgetful_norms():
        for ours, wanted in zip(addnorm.layer_norm_backward(d_y, x, factors[0]), plain, strict=True):
            assert np.array_equal(ours, wanted)

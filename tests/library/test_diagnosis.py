"""Properties of a model: a right one has them all, and each planted fault breaks the one that is there for it."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tested_transformer.config import TINY
from tested_transformer.data.batches import tensors
from tested_transformer.model.masks import causal_mask, padding_mask
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.diagnosis import (
    diagnose,
    first_different,
    first_not_finite,
    hears,
    outputs,
    replay,
    step_sizes,
)

BATCH = tensors([([4, 5, 6, 7], [1, 8, 9, 10, 2]), ([4, 6], [1, 11, 2]), ([9, 8, 7], [1, 12, 12, 2])])
NAMES = [
    "bos and eos",
    "first loss",
    "logits",
    "gradients",
    "repeated",
    "future",
    "padding",
    "batch",
    "source",
    "order",
]


def made(**changes):
    torch.manual_seed(0)
    return Transformer(TINY.replace(**changes)).double()


def broken(model, batch=BATCH, **named):
    return [finding.name for finding in diagnose(model, *batch, **named) if not finding.holds]


class Around(nn.Module):
    """A model with something done to its answer, or to what it is asked."""

    def __init__(self, answer):
        super().__init__()
        self.model, self.answer = made(), answer

    def forward(self, source, target):
        return self.answer(self.model, source, target)


def without_memory(model, source, target):
    return model.embedding.logits(model.decode(target, 0 * model.encode(source), source))


def cut_off(model, source, target):
    return model.embedding.logits(model.decode(target, model.encode(source).detach(), source))


def padding_seen(model, source, target):
    """The source's mask is left out, in the encoder and in the cross-attention."""
    memory = model.encoder(model.positions(model.embedding(source)), None)
    x = model.positions(model.embedding(target))
    return model.embedding.logits(model.decoder(x, memory, causal_mask(target.size(1)), None))


def one_place_too_many(model, source, target):
    see = torch.ones(2 * [target.size(1)], dtype=torch.bool).tril(1) & padding_mask(target, 0)
    x, memory = model.positions(model.embedding(target)), model.encode(source)
    return model.embedding.logits(model.decoder(x, memory, see, padding_mask(source, 0)))


FAULTS = {
    "logits": lambda model, *ids: model(*ids).softmax(-1),
    "repeated": lambda model, *ids: F.dropout(model(*ids), 0.5),  # on in every mode
    "batch": lambda model, *ids: model(*ids) - model(*ids).mean(0, keepdim=True),
    "padding": padding_seen,
    "future": one_place_too_many,
    "gradients": cut_off,
}


@pytest.mark.parametrize("changes", [{}, {"norm_first": True, "attention_bias": True}, {"dropout": 0.5, "n_layers": 1}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_right_model_has_every_property_in_the_order_of_the_list(changes, dtype):
    findings = diagnose(made(**changes).to(dtype), *BATCH)
    assert [finding.name for finding in findings] == NAMES
    assert all(finding.holds for finding in findings)
    assert all(finding.holds for finding in diagnose(Around(lambda model, *ids: model(*ids).log_softmax(-1)), *BATCH))


LOW = pytest.mark.parametrize("low", [-torch.inf, -1e9], ids=str)
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)


def never(low, tokens, answer=lambda model, *ids: model(*ids)):
    """A model that forbids tokens by a logit."""
    return Around(lambda *given: answer(*given).index_fill(-1, torch.tensor(tokens), low))


@LOW
@DTYPES
@pytest.mark.parametrize("tokens", [[0], [0, 1], [0, 3, 13]], ids=str)
def test_a_right_model_may_forbid_tokens(low, dtype, tokens):
    assert broken(never(low, tokens).to(dtype)) == []


@LOW
@DTYPES
@pytest.mark.parametrize("fault", ["padding", "future", "gradients", "batch", "repeated"])
def test_a_fault_is_found_in_a_model_that_forbids_tokens_too(fault, low, dtype):
    assert fault in broken(never(low, [0], FAULTS[fault]).to(dtype))


def test_infinite_logits_that_come_and_go_are_a_move_and_those_at_the_answer_an_infinite_loss():
    calls = []

    def changing(model, source, target):
        calls.append(1)
        return model(source, target).index_fill(-1, torch.tensor([len(calls) % 2]), -torch.inf)

    assert {"repeated", "future"} <= set(broken(Around(changing)))
    assert broken(never(-torch.inf, [8]))[0] == "first loss"  # a token of the first target
    assert "first loss" in broken(never(torch.inf, [0]))
    assert "source" in broken(Around(lambda model, *ids: model(*ids).fill_(-torch.inf)))  # all are forbidden


def test_what_is_rounding_is_measured_by_the_largest_logit_of_a_token():
    calls, step = [], 0.4e6 * 2**-26  # the root of the precision is 2^-26

    def rounded(model, source, target):
        calls.append(1)
        logits = model(source, target).clone()
        logits[0, 0, 5] += 1e6  # far above the mean of all
        logits[..., 5] += step * (len(calls) % 2)
        return logits

    assert broken(Around(rounded)) == []
    step *= 4
    assert "repeated" in broken(Around(rounded))


def test_a_token_whose_logits_are_always_near_zero_may_be_rounded_as_the_others_are():
    calls = []

    def rounded(model, source, target):
        calls.append(1)
        return model(source, target).index_fill(-1, torch.tensor([5]), 1e-9 * (len(calls) % 2))

    assert "repeated" not in broken(Around(rounded))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_breaks_its_property(fault):
    assert fault in broken(Around(FAULTS[fault]))


@pytest.mark.parametrize("fault", ["padding", "future", "gradients", "logits"])
def test_these_faults_break_nothing_else(fault):
    assert broken(Around(FAULTS[fault])) == [fault]


def test_a_decoder_without_its_memory_has_no_gradients_in_the_encoder_and_knows_no_source():
    findings = {finding.name: finding for finding in diagnose(Around(without_memory), *BATCH)}
    assert [name for name, finding in findings.items() if not finding.holds] == ["gradients", "source", "order"]
    assert "model.encoder.layers.0" in findings["gradients"].seen


def test_a_model_without_positions_knows_no_order_and_nothing_else_is_wrong():
    model = made()
    model.positions.register_forward_hook(lambda module, given, out: given[0])
    assert broken(model) == ["order"]


def test_frozen_parameters_are_named_and_counted():
    model = made()
    assert all(finding.holds for finding in diagnose(model, *BATCH))
    model.decoder.layers[1].addnorm_3.norm.bias.requires_grad_(False)
    (finding,) = [finding for finding in diagnose(model, *BATCH) if not finding.holds]
    assert finding == ("gradients", False, "none, 0 or not finite: decoder.layers.1.addnorm_3.norm.bias")
    findings = diagnose(model.requires_grad_(False), *BATCH)
    more = len(list(model.parameters())) - 1
    assert findings[3] == ("gradients", False, f"none, 0 or not finite: embedding.weight and {more} more")


def test_a_gradient_of_zero_and_one_that_is_not_a_number_are_found():
    assert broken(Around(lambda model, *ids: model(*ids) + 0 * model.encode(ids[0]).mean())) == []
    silent, sick = made(), made()
    with torch.no_grad():
        silent.encoder.layers[0].feed_forward.w_1.bias.fill_(-1e9)  # its units never fire
        sick.embedding.weight[5] = torch.nan
    assert "gradients" in broken(silent)
    assert {"first loss", "gradients", "repeated"} <= set(broken(sick))


@pytest.mark.parametrize("cut", [np.s_[:, 1:], np.s_[:, :-1]], ids=["bos", "eos"])
def test_targets_that_lack_their_begin_or_their_end_are_found(cut):
    rows = [[1, 8, 9, 2], [1, 11, 12, 2], [1, 12, 13, 2]]
    source, target = tensors([([4, 5], row) for row in rows])
    assert broken(made(), (source + torch.tensor([[0], [1], [2]]), target)) == []
    assert broken(made(), (source + torch.tensor([[0], [1], [2]]), target[cut])) == ["bos and eos"]


def test_the_first_loss_is_told_beside_that_of_knowing_nothing():
    model = Around(lambda model, *ids: 0 * model(*ids))
    assert diagnose(model, *BATCH)[1] == ("first loss", True, "2.77 nats; ln |V| is 2.77")


def test_another_id_of_padding_is_given_by_name():
    source, target = (torch.where(ids == 0, 15, ids) for ids in BATCH)
    model = made(pad_id=15)
    assert broken(model, (source, target), pad_id=15) == []
    assert "padding" in broken(model, (source, target))


def test_weights_gradients_and_modes_stay_as_they_were():
    model = made(dropout=0.5).train()
    model.encoder.eval()
    model.embedding.weight.grad = torch.ones_like(model.embedding.weight)
    before, modes = copy.deepcopy(model.state_dict()), [module.training for module in model.modules()]
    diagnose(model, *BATCH)
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(w, before[name]) for name, w in model.state_dict().items())
    assert model.embedding.weight.grad.eq(1).all()
    assert sum(w.grad is not None for w in model.parameters()) == 1
    with pytest.raises(RuntimeError):
        diagnose(Around(lambda model, *ids: model(*ids) @ torch.ones(3, 3).double()), *BATCH)
    with pytest.raises(ValueError, match="max_len"):
        diagnose(model.train(), BATCH[0].repeat(1, 20), BATCH[1])
    assert model.training


# Tests that tell one cause from another


SOURCE, READ = BATCH[0], BATCH[1][:, :-1]


def test_the_sizes_of_a_step_are_those_of_the_optimiser():
    model = made()
    loss = model(SOURCE, READ).square().mean()
    sizes = step_sizes(model, torch.optim.Adam(model.decoder.parameters(), lr=0.25), loss)
    assert list(sizes) == [name for name, _ in model.named_parameters()]
    for name, size in sizes.items():
        assert size == pytest.approx(0.25 if name.startswith("decoder") else 0, rel=1e-3)
    wild = step_sizes(made(), torch.optim.SGD(model.parameters(), lr=1.0), loss.detach().requires_grad_())
    assert set(wild.values()) == {0}


def test_gradients_from_before_are_no_part_of_a_step():
    model = made()
    for w in model.parameters():
        w.grad = torch.full_like(w, 100.0)
    sizes = step_sizes(model, torch.optim.SGD(model.parameters(), lr=1.0), 0 * model(SOURCE, READ).mean())
    assert max(sizes.values()) == 0


def test_a_model_hears_the_source_if_logits_move_with_it():
    assert hears(Around(without_memory), SOURCE, READ) == 0
    model = made()
    logits = model(SOURCE, READ)
    change = (model(SOURCE[[2, 0, 1]], READ) - logits).abs().mean() / logits.std()
    assert hears(model, SOURCE, READ) == pytest.approx(change.item()) != 0
    left_on = torch.is_inference_mode_enabled()
    assert not left_on


def test_tokens_that_are_forbidden_count_neither_in_hearing_nor_in_a_replay():
    model, silent = made(), never(-torch.inf, [0])
    logits, other = (model(source, READ)[..., 1:] for source in (SOURCE, SOURCE[[2, 0, 1]]))
    assert hears(silent, SOURCE, READ) == pytest.approx(((other - logits).abs().mean() / logits.std()).item())
    assert hears(never(-torch.inf, [0], without_memory), SOURCE, READ) == 0

    def step(source, written):
        return silent(source, written)[:, -1]

    assert replay(step, silent, *BATCH) < 1e-9
    assert replay(lambda *given: step(*given).index_fill(-1, torch.tensor([0]), 1.0), silent, *BATCH) == torch.inf
    assert np.isnan(replay(lambda *given: torch.nan * step(*given), silent, *BATCH))


def test_a_replay_finds_the_place_where_a_program_differs_and_leaves_padding_out():
    model = made()
    places = []

    def step(source, written, fault=0.0, at=3):
        places.append(written.size(1))
        logits = model(source, written)[:, -1]
        return logits + fault * (written.size(1) == at) * torch.tensor([[0.0], [1.0], [1.0]], dtype=torch.float64)

    assert replay(step, model, *BATCH) < 1e-9
    assert places == [1, 2, 3, 4]
    assert replay(lambda *given: step(*given, fault=0.5), model, *BATCH) == pytest.approx(0.5)
    assert replay(lambda *given: step(*given, fault=0.5, at=4), model, *BATCH) < 1e-9  # only padding there


def test_outputs_come_in_order_and_leave_no_hooks_behind():
    model = made()
    seen = outputs(model, SOURCE, READ)
    names = list(seen)
    assert names[0] == "embedding"
    assert names[-1] == ""
    assert torch.equal(seen[""], model(SOURCE, READ))
    assert seen["encoder.layers.0.self_attention"].shape == (3, 4, 16)  # of a tuple, the first
    assert not any(module._forward_hooks for module in model.modules())
    with pytest.raises(ValueError, match="max_len"):
        outputs(model, SOURCE.repeat(1, 20), READ)
    assert not any(module._forward_hooks for module in model.modules())


def test_the_first_module_is_named_that_is_not_finite_or_that_differs():
    model, other = made(), made()
    assert first_not_finite(model, SOURCE, READ) == first_different(model, other, SOURCE, READ) == "none"
    with torch.no_grad():
        other.decoder.layers[1].feed_forward.w_1.weight[0, 0] += 1
    assert first_different(model, other, SOURCE, READ) == "decoder.layers.1.feed_forward.w_1"
    with torch.no_grad():
        other.encoder.layers[1].addnorm_1.norm.weight[0] = torch.inf
    assert first_not_finite(other, SOURCE, READ) == "encoder.layers.1.addnorm_1.norm"

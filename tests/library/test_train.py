"""The training loop: every token counts once and the same, and a run that stopped goes on as if it had not."""

import copy
import itertools
import re
import signal

import numpy as np
import pytest
import torch
from helpers import unchecked
from torch.nn import functional as F

from tested_transformer.book import figures
from tested_transformer.config import TINY
from tested_transformer.data.batches import batches, tensors
from tested_transformer.data.parallel import encode_pairs
from tested_transformer.decoding.translator import Translator
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.masks import causal_mask
from tested_transformer.model.transformer import Transformer
from tested_transformer.params import part
from tested_transformer.text.tokens import BytePairEncoding
from tested_transformer.training import checkpoint
from tested_transformer.training.adam import create_adam
from tested_transformer.training.distributed import World
from tested_transformer.training.events import EpochMean, Step, Validation
from tested_transformer.training.filenames import TOKENS, epoch_end
from tested_transformer.training.loss import smoothed_loss
from tested_transformer.training.objective import NextToken
from tested_transformer.training.options import Options
from tested_transformer.training.resume import fingerprint
from tested_transformer.training.schedule import rate
from tested_transformer.training.train import Trainer, seed_of

CONFIG = TINY.replace(dropout=0.1)
SHORT = Options(steps=9, batch_tokens=30, warmup=10, save_every=4)


def pairs(n=24, seed=0, longest=6):
    """Ragged sentences of random ids and, as their translation, the same backwards."""
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(4, 16, rng.integers(1, longest + 1)).tolist() for _ in range(n)]
    return [([*s, 2], [1, *s[::-1], 2]) for s in sentences]


def trainer(folder, options=SHORT, config=CONFIG, train=None, **more):
    torch.manual_seed(0)
    folder.mkdir(exist_ok=True)
    return Trainer(Transformer(config), options, train or pairs(), pairs(6, seed=1), folder, **more)


def steps(events):
    return [event for event in events if isinstance(event, Step)]


def state(folder):
    return checkpoint.read_tensors(folder / "last.safetensors")[0]


def assert_same(a, b):
    assert a.keys() == b.keys()
    assert [name for name in a if not torch.equal(a[name], b[name])] == []


def test_the_loss_is_that_of_every_next_token_and_of_no_padding():
    model = Transformer(TINY).double().eval()
    model.embedding.weight.data[0] *= 100  # padding is the guess in many places
    batch = pairs(5)
    source, target = tensors(batch)
    summed, right = NextToken(model, 0.0).eval()(source, target)
    by_hand = hits = 0.0
    for s, t in batch:  # one by one, so that there is no padding at all
        logits = model(torch.tensor([s]), torch.tensor([t[:-1]]))[0]
        by_hand += F.cross_entropy(logits, torch.tensor(t[1:]), reduction="sum").item()
        hits += (logits.argmax(-1) == torch.tensor(t[1:])).sum().item()
    assert summed.item() == pytest.approx(by_hand, abs=1e-9)
    assert right.item() == hits


def test_padding_is_that_of_the_model(tmp_path):
    """Ids 0 and 12 change places: the same training, and no padding among what is asked for."""
    texts, runs = pairs(12), []
    for pad_id, names in ((0, range(16)), (12, [12, *range(1, 12), 0, 13, 14, 15])):
        torch.manual_seed(0)
        model = Transformer(TINY.replace(pad_id=pad_id))
        model.embedding.weight.data = model.embedding.weight.data[list(names)]
        named = [tuple([names[i] for i in side] for side in pair) for pair in texts]
        seen = []
        Trainer(model, SHORT, named, named, tmp_path / str(pad_id), report=seen.append).run()
        runs.append(seen)
    one, other = runs
    assert list(map(type, other)) == list(map(type, one))
    assert [event.tokens for event in steps(other)] == [event.tokens for event in steps(one)]
    assert [event.loss for event in other] == pytest.approx([event.loss for event in one], rel=1e-4)


def test_smoothing_is_for_training_and_not_for_validation():
    objective = NextToken(Transformer(TINY), 0.3)
    batch = tensors(pairs(5))
    trained, judged = objective(*batch)[0], objective.eval()(*batch)[0]
    plain = NextToken(objective.model, 0.0).eval()(*batch)[0]
    assert judged == plain
    assert trained != plain


def test_a_step_weighs_every_token_the_same_however_the_batches_are_cut(tmp_path):
    config, gradients = TINY, []
    for cuts in ([[0, 1, 2, 3, 4, 5]], [[0], [1, 2, 3, 4], [5]]):
        t = trainer(tmp_path / str(len(cuts)), Options(steps=1, accumulate=len(cuts), ema=0.0), config)
        t.model.double()
        t.gradients([tensors([t.train[i] for i in cut]) for cut in cuts])
        gradients.append({name: p.grad for name, p in t.model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=0, atol=1e-12)


def test_a_run_is_the_plain_loop_with_dropout_groups_of_batches_and_a_moving_average(tmp_path):
    options = Options(steps=7, batch_tokens=20, accumulate=2, warmup=3, rate_scale=2.0, ema=0.3, smoothing=0.2, seed=5)
    torch.manual_seed(0)
    model = Transformer(CONFIG).double()
    plain, seen = copy.deepcopy(model), []
    t = Trainer(model, options, pairs(), pairs(6, seed=1), tmp_path, report=seen.append)
    t.run()
    adam, kept = create_adam(plain.parameters()), {n: w.clone() for n, w in plain.state_dict().items()}
    epochs = [list(batches(pairs(), 20, seed=5, epoch=epoch)) for epoch in range(3)]
    groups = [epoch[i : i + 2] for epoch in epochs for i in range(0, len(epoch), 2)]
    assert len(epochs[0]) % 2 == 1, "the last group of an epoch is a small one"
    assert len({len(group) for group in groups[:7]}) == 2
    plain.train()
    for step, (group, told) in enumerate(zip(groups, steps(seen), strict=False), start=1):
        n_tokens = sum(int((target[:, 1:] != 0).sum()) for _, target in group)
        total = right = 0.0
        for n, (source, target) in enumerate(group):
            torch.manual_seed(seed_of(5, step, n, 0))
            logits, wanted = plain(source, target[:, :-1]), target[:, 1:]
            loss = smoothed_loss(logits, wanted, 0, 0.2, "sum") / n_tokens
            loss.backward()
            total += loss.item()
            right += ((logits.argmax(-1) == wanted) & (wanted != 0)).sum().item()
        adam.param_groups[0]["lr"] = 2.0 * rate(step, CONFIG.d_model, 3)
        adam.step()
        adam.zero_grad()
        move = 1 - min(0.3, (1 + step) / (10 + step))  # from the third step on it is 0.3
        kept = {name: w + move * (plain.state_dict()[name] - w) for name, w in kept.items()}
        assert (told.step, told.tokens) == (step, n_tokens)
        assert told.rate == adam.param_groups[0]["lr"]
        assert told.loss == pytest.approx(total, rel=1e-12)
        assert told.accuracy == pytest.approx(right / n_tokens, rel=1e-12)
    assert step == 7
    for name, w in plain.state_dict().items():
        torch.testing.assert_close(state(tmp_path)[f"model.{name}"], w, rtol=0, atol=1e-12)
        torch.testing.assert_close(t.ema.weights[name], kept[name], rtol=0, atol=1e-12)
    assert t.progress.tokens == sum(event.tokens for event in steps(seen))


def test_a_run_that_ends_within_an_epoch_is_validated_once_more_unless_somebody_asked_to_stop(tmp_path):
    seen = []
    trainer(tmp_path / "a", Options(steps=2, batch_tokens=30), report=seen.append).run()
    assert [type(event) for event in seen] == [Step, Step, Validation]
    seen.clear()

    def impatient(event):
        seen.append(event)
        t.stop()

    t = trainer(tmp_path / "b", Options(steps=2, batch_tokens=30), report=impatient)
    t.run()
    assert [type(event) for event in seen] == [Step]


def test_the_seconds_of_a_run_go_on_where_they_were(tmp_path):
    seen = []
    t = trainer(tmp_path / "a", Options(steps=2, batch_tokens=30), report=seen.append)
    t.progress.seconds = 1000.0
    assert 1000 < t.run().seconds < 1100
    assert all(event.seconds > 1000 for event in seen)
    late = trainer(tmp_path / "b", Options(minutes=16, batch_tokens=30))
    late.progress.seconds = 961.0
    assert late.run().step == 0
    in_time = trainer(tmp_path / "c", Options(minutes=16, steps=1, batch_tokens=30))
    in_time.progress.seconds = 30.0
    assert in_time.run().step == 1


def test_the_first_step_is_the_paper_s_rate_for_step_one(tmp_path):
    seen = []
    t = trainer(tmp_path, Options(steps=2, warmup=10, rate_scale=0.5), report=seen.append)
    t.run()
    rates = [event.rate for event in steps(seen)]
    assert rates == [0.5 * rate(step, CONFIG.d_model, 10) for step in (1, 2)]


def test_a_cooldown_takes_the_rate_to_zero_in_a_line(tmp_path):
    seen = []
    options = Options(steps=6, warmup=2, rate_scale=0.5, cooldown=3, batch_tokens=30)
    trainer(tmp_path, options, report=seen.append).run()
    rates = [event.rate for event in steps(seen)]
    shares = [1, 1, 1, 3 / 4, 2 / 4, 1 / 4]
    wanted = [0.5 * share * rate(i, CONFIG.d_model, 2) for i, share in enumerate(shares, start=1)]
    assert rates == pytest.approx(wanted, rel=1e-12)


def test_an_epoch_takes_every_pair_once(tmp_path):
    t, taken = trainer(tmp_path), []
    for group in t.groups():
        taken += [row[row != 0].tolist() for _, target in group for row in target]
    assert sorted(taken) == sorted(list(target) for _, target in t.train)


@pytest.mark.parametrize("lost", ["model.embedding.weight", "ema.embedding.weight", "adam.step.embedding.weight"])
def test_a_state_that_lacks_something_is_refused_before_anything_changes(tmp_path, lost):
    trainer(tmp_path).run()
    path = tmp_path / "last.safetensors"
    saved, told = checkpoint.read_tensors(path)
    checkpoint.write_tensors(path, {name: t for name, t in saved.items() if name != lost}, told)
    second = trainer(tmp_path)
    before = {name: t.clone() for name, t in second.model.state_dict().items()}
    with pytest.raises(ValueError, match=rf"last\.safetensors lacks {lost.replace('.', chr(92) + '.')} and 0 more"):
        second.resume()
    assert_same(second.model.state_dict(), before)
    assert second.progress.step == 0


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda tensors, told: told.clear(), "holds no state of a run: it lacks config"),
        (lambda tensors, told: told["progress"].update(more=1), "holds no state of a run: .*and no more"),
        (lambda tensors, told: tensors.update({"ema.w": torch.zeros(1)}), r"holds ema\.w, which is not of this run"),
        (
            lambda tensors, told: tensors.update({"ema.embedding.weight": torch.zeros(1)}),
            r"ema\.embedding\.weight has the shape torch\.Size\(\[1\]\), not",
        ),
        (
            lambda tensors, told: tensors.update({"adam.exp_avg.embedding.weight": torch.zeros(2, 3)}),
            r"adam\.exp_avg\.embedding\.weight has the shape torch\.Size\(\[2, 3\]\), not",
        ),
        (lambda tensors, told: told["options"].update(ema=0.5), "was trained with another ema: 0.5, now 0.999"),
    ],
)
def test_a_damaged_state_is_refused_in_words_before_anything_changes(tmp_path, damage, message):
    trainer(tmp_path).run()
    path = tmp_path / "last.safetensors"
    tensors, told = checkpoint.read_tensors(path)
    damage(tensors, told)
    checkpoint.write_tensors(path, tensors, told)
    second = trainer(tmp_path)
    before = {name: t.clone() for name, t in second.model.state_dict().items()}
    with pytest.raises(ValueError, match=rf"last\.safetensors.*{message}"):
        second.resume()
    assert_same(second.model.state_dict(), before)
    assert second.progress.step == 0


def test_a_run_that_was_stopped_can_be_run_on(tmp_path):
    t = trainer(tmp_path, report=lambda event: event.step == 2 and t.stop())
    assert t.run().step == 2
    t.report = lambda event: None
    assert t.run().step == 9
    assert [t.stop(), t.stop()] == [True, False], "the second time it is an order"


def test_a_state_without_anything_of_adam_is_refused(tmp_path):
    trainer(tmp_path).run()
    path = tmp_path / "last.safetensors"
    saved, told = checkpoint.read_tensors(path)
    checkpoint.write_tensors(path, {name: t for name, t in saved.items() if name[:5] != "adam."}, told)
    with pytest.raises(ValueError, match=r"last\.safetensors lacks everything that Adam remembers"):
        trainer(tmp_path).resume()


def test_a_run_with_a_frozen_table_goes_on(tmp_path):
    one = trainer(tmp_path)
    one.model.embedding.weight.requires_grad_(False)
    one.run()
    two = trainer(tmp_path, Options(**vars(SHORT) | {"steps": 12}))
    two.model.embedding.weight.requires_grad_(False)
    two.resume()
    assert two.run().step == 12


@pytest.mark.parametrize(("stop", "accumulate"), [(1, 1), (4, 1), (5, 1), (8, 1), (1, 2), (2, 2), (3, 2)])
def test_a_run_that_stopped_goes_on_bit_for_bit(tmp_path, stop, accumulate):
    options = Options(**vars(SHORT) | {"accumulate": accumulate})
    whole = trainer(tmp_path / "whole", options)
    whole.run()
    first = trainer(tmp_path / "parts", Options(**vars(options) | {"steps": stop}))
    first.run()
    second = trainer(tmp_path / "parts", options)
    for parameter in second.model.parameters():
        parameter.data.zero_()  # nothing of it may count
    torch.manual_seed(123)
    second.resume()
    second.run()
    assert_same(state(tmp_path / "whole"), state(tmp_path / "parts"))
    for name in ("step", "epoch", "batch", "tokens"):
        assert getattr(second.progress, name) == getattr(whole.progress, name)


def test_a_run_without_a_moving_average_goes_on_too(tmp_path):
    options = Options(steps=6, batch_tokens=30, ema=0.0)
    trainer(tmp_path / "whole", options).run()
    trainer(tmp_path / "parts", Options(**vars(options) | {"steps": 3})).run()
    second = trainer(tmp_path / "parts", options)
    second.resume()
    second.run()
    assert_same(state(tmp_path / "whole"), state(tmp_path / "parts"))


def test_who_asks_to_stop_gets_a_saved_run_that_goes_on(tmp_path):
    trainer(tmp_path / "whole").run()

    def impatient(event):
        if event.step == 5:
            first.stop()

    first = trainer(tmp_path / "parts", report=impatient)
    assert first.run().step == 5
    second = trainer(tmp_path / "parts")
    second.resume()
    second.run()
    assert_same(state(tmp_path / "whole"), state(tmp_path / "parts"))


def test_ctrl_c_lets_the_step_end_and_saves(tmp_path):
    def interrupted(event):
        if event.step == 3:
            signal.raise_signal(signal.SIGINT)

    first = trainer(tmp_path, report=interrupted)
    assert first.run().step == 3
    second = trainer(tmp_path)
    second.resume()
    assert second.progress.step == 3


def test_saving_happens_every_few_steps_and_at_the_end(tmp_path):
    told, saved = [], []
    t = trainer(tmp_path, report=lambda event: told.append(event.epoch))
    t.save = lambda: saved.append(t.progress.step)
    t.keep_best = lambda: True
    t.run()
    ends = [n for n, (now, after) in enumerate(itertools.pairwise(told), start=1) if after > now]
    assert state(tmp_path), "the start is saved by itself"
    assert sorted(saved) == sorted([4, 8, *ends, 9]), "every four steps, the end of each epoch, and the end"


def test_dropout_differs_from_step_to_step_and_batch_to_batch():
    seeds = {seed_of(*numbers) for numbers in np.ndindex(3, 20, 4, 2)}
    assert len(seeds) == 480
    assert all(0 <= s < 2**63 for s in seeds)


def test_another_corpus_or_other_options_cannot_go_on(tmp_path):
    trainer(tmp_path).run()
    with pytest.raises(ValueError, match=r"was trained with other pairs: 24 and 6 pairs, .*, now 23 and 6"):
        trainer(tmp_path, train=pairs(23)).resume()
    valid = pairs(6, seed=2)
    with pytest.raises(ValueError, match=r"was trained with other pairs: 24 and 6 pairs, .*, now 24 and 6"):
        Trainer(Transformer(CONFIG), SHORT, pairs(), valid, tmp_path).resume()
    with pytest.raises(ValueError, match=r"was trained with another accumulate: 1, now 2"):
        trainer(tmp_path, Options(**vars(SHORT) | {"accumulate": 2})).resume()
    with pytest.raises(ValueError, match=r"was trained with another warmup: 10, now 11"):
        trainer(tmp_path, Options(**vars(SHORT) | {"warmup": 11})).resume()


def test_a_run_with_a_cooldown_keeps_its_number_of_steps(tmp_path):
    options = Options(**vars(SHORT) | {"cooldown": 2})
    trainer(tmp_path, options).run()
    trainer(tmp_path, Options(**vars(options) | {"save_every": 3})).resume()
    with pytest.raises(ValueError, match=r"was trained with another steps: 9, now 12"):
        trainer(tmp_path, Options(**vars(options) | {"steps": 12})).resume()


def test_the_fingerprint_sees_every_id_and_the_order():
    a = pairs()
    assert fingerprint(a, a[:3]) == fingerprint(pairs(), pairs()[:3])
    assert fingerprint([([4], [5])], []) == "1 and 0 pairs, 995468f8f07e806a", "runs that began before can go on"
    assert fingerprint(a, a) != fingerprint(a[1:] + a[:1], a)
    assert fingerprint(a, a) != fingerprint(a, a[1:] + a[:1])
    assert fingerprint(a, []) != fingerprint(a[:-1], a[-1:])
    assert fingerprint([([4], [5])], a) != fingerprint([([4, 5], [])], a)


@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_a_loss_that_is_no_number_or_has_no_end_stops_before_the_weights_are_spoilt(tmp_path, bad):
    t = trainer(tmp_path)
    before = {name: tensor.clone() for name, tensor in t.model.state_dict().items()}
    t.objective.register_forward_hook(lambda module, given, found: (found[0] * float(bad), found[1]))
    with pytest.raises(FloatingPointError, match=f"the loss is {bad} at step 1"):
        t.run()
    assert_same(t.model.state_dict(), before)


def test_patience_ends_a_run_that_gets_no_better(tmp_path):
    t = trainer(tmp_path, Options(patience=2, batch_tokens=30, rate_scale=1e-12, ema=0.0))
    t.progress.best = 0.0
    assert t.run().epoch == 2


def test_the_best_model_is_kept_and_a_worse_one_is_not(tmp_path):
    seen = []
    t = trainer(tmp_path, Options(epochs=1, batch_tokens=30), report=seen.append)
    t.run()
    best, _ = checkpoint.load(tmp_path)
    assert seen[-1].best
    assert seen[-1].loss == t.progress.best
    tensors, told = checkpoint.read_tensors(tmp_path / "last.safetensors")
    told["progress"]["best"] = 0.0
    checkpoint.write_tensors(tmp_path / "last.safetensors", tensors, told)
    t = trainer(tmp_path, Options(epochs=2, batch_tokens=30), report=seen.append)
    t.resume()
    t.run()
    after, _ = checkpoint.load(tmp_path)
    assert not seen[-1].best
    assert_same(best.state_dict(), after.state_dict())


def test_the_model_that_is_kept_has_the_moving_average_and_one_without_it_its_own_weights(tmp_path):
    for ema in (0.5, 0.0):
        t = trainer(tmp_path / str(ema), Options(steps=3, batch_tokens=30, ema=ema))
        t.run()
        kept = checkpoint.load(tmp_path / str(ema))[0].state_dict()
        last = part(state(tmp_path / str(ema)), "model")
        assert_same(kept, t.ema.weights if ema else last)
        assert torch.equal(kept["embedding.weight"], last["embedding.weight"]) is not bool(ema)


def test_patience_counts_from_the_best(tmp_path, monkeypatch):
    losses = iter([3.0, 4.0, 2.0, 2.5, 2.0, 9.0])
    t = trainer(tmp_path, Options(patience=2, batch_tokens=60))
    monkeypatch.setattr(t, "validate", lambda weights: (next(losses), 0.5))
    assert t.run().epoch == 5, "4.0 is one, 2.0 begins anew, as good as the best is no better"


def test_validation_sees_the_average_and_leaves_the_model_alone(tmp_path):
    t = trainer(tmp_path)
    before = {name: tensor.clone() for name, tensor in t.model.state_dict().items()}
    other = {name: tensor * 0.5 for name, tensor in before.items()}
    assert t.validate(before) != t.validate(other)
    assert t.validate(before) == t.validate(before), "no dropout"
    assert_same(t.model.state_dict(), before)


def halfway(one, two):
    """The mean of two sets of weights that are not the same."""
    assert not torch.equal(one["embedding.weight"], two["embedding.weight"])
    return {name: ((one[name].double() + two[name].double()) / 2).float() for name in one}


def test_the_mean_of_the_last_epochs_is_tried_and_old_ones_go(tmp_path):
    t = trainer(tmp_path, Options(epochs=3, keep=2, batch_tokens=60, warmup=1, ema=0.0))
    t.run()
    assert sorted(p.name for p in tmp_path.glob("epoch-*")) == ["epoch-0002.safetensors", "epoch-0003.safetensors"]
    t.progress.best = float("inf")
    assert t.try_mean()
    assert t.progress.kept == [2, 3]
    two, three = (checkpoint.read_tensors(tmp_path / epoch_end(epoch))[0] for epoch in (2, 3))
    assert_same(checkpoint.load(tmp_path)[0].state_dict(), halfway(two, three))
    t.progress.best = 0.0
    checkpoint.save(tmp_path, t.model)
    assert not t.try_mean()
    assert_same(checkpoint.load(tmp_path)[0].state_dict(), t.model.state_dict())


def test_half_precision_on_a_device_that_lacks_it_is_refused(tmp_path):
    options, nowhere = Options(steps=1, precision="bfloat16"), World(device=torch.device("meta"))
    with pytest.raises(ValueError, match=r"precision \('bfloat16'\) cannot be had on the device meta"):
        Trainer(Transformer(CONFIG), options, pairs(), pairs(6, seed=1), tmp_path, nowhere)


def test_losses_in_half_precision_are_near_those_in_single(tmp_path):
    losses = []
    for precision in ("float32", "bfloat16"):
        seen = []
        t = trainer(tmp_path / precision, Options(steps=15, warmup=10, rate_scale=0.1, precision=precision))
        t.report = seen.append
        t.run()
        losses.append([event.loss for event in seen if isinstance(event, (Step, Validation))])
    single, half = map(np.array, losses)
    assert 0 < np.abs(single - half).max() < 0.02
    assert half[-1] < half[0] - 0.2  # so it learns


def test_training_and_validation_calculate_in_the_precision_that_was_chosen(tmp_path):
    """What the model gives is as narrow as the numbers it is calculated in."""
    t, seen = trainer(tmp_path, Options(steps=1, batch_tokens=30, precision="bfloat16")), []
    t.model.register_forward_hook(lambda module, given, logits: seen.append((module.training, logits.dtype)))
    t.run()
    assert set(seen) == {(True, torch.bfloat16), (False, torch.bfloat16)}


# Refused before any work


def refused(folder, train=None, valid=None, options=SHORT, config=CONFIG, **more):
    train, valid = pairs() if train is None else train, pairs(6, seed=1) if valid is None else valid
    with pytest.raises((ValueError, TypeError, OSError)) as error, unchecked():
        Trainer(Transformer(config), options, train, valid, folder, **more)
    assert not (folder / "last.safetensors").exists()
    return str(error.value)


def test_pairs_that_no_model_could_learn_from_are_refused_with_their_number(tmp_path):
    good = pairs(3)
    assert refused(tmp_path, train=[]) == "train has no pairs; there must be at least one"
    assert refused(tmp_path, valid=[]) == "valid has no pairs; there must be at least one"
    long = [4] * 40
    said = "train: the source of pair 3 has 40 ids; there must be at least 1 and at most 32 (max_len)"
    assert refused(tmp_path, train=[*good, (long, [1, 2])]) == said
    said = "valid: the target of pair 3 has 34 ids; there must be at least 2 and at most 33 (max_len)"
    assert refused(tmp_path, valid=[*good, ([4], [1] * 34)]) == said
    Trainer(Transformer(CONFIG), Options(steps=1), [([4] * 32, [1] * 32 + [2])], good, tmp_path)
    assert "the target of pair 3 has 1 ids" in refused(tmp_path, train=[*good, ([4, 2], [1])])
    assert "the source of pair 3 has 0 ids" in refused(tmp_path, train=[*good, ([], [1, 2])])
    said = "train: the source of pair 3 has ids from 4 to 16; all must be at least 0 and below 16"
    assert refused(tmp_path, train=[*good, ([4, 16], [1, 2])]) == said
    assert "ids from -1 to 4" in refused(tmp_path, train=[*good, ([4, -1], [1, 2])])
    assert "the target of pair 3 has the id 0, which is padding" in refused(tmp_path, train=[*good, ([4], [1, 0, 2])])
    assert "train: pair 0 must be (source ids, target ids), not [1, 2, 3]" in refused(tmp_path, train=[[1, 2, 3]])
    said = "valid: the target of pair 3 has 10 ids, more than a batch (batch_tokens, 9)"
    assert refused(tmp_path, valid=[*good, ([4], [1] * 9 + [2])], options=Options(steps=1, batch_tokens=9)) == said
    said = "train: the target of pair 3 begins with 4; it must begin with bos_id (1)"
    assert refused(tmp_path, train=[*good, ([4], [4, 2])]) == said
    said = "train: the target of pair 3 ends with 5; it must end with eos_id (2)"
    assert refused(tmp_path, train=[*good, ([4, 2], [1, 5])]) == said
    unended = [([4], [1, 4, 2])]  # read as it is, unless a tokeniser reads sources to their end
    Trainer(Transformer(CONFIG), SHORT, unended, unended, tmp_path / "ids")
    text = CONFIG.replace(vocab_size=260)
    with pytest.raises(ValueError, match=r"valid: the source of pair 0 ends with 4; it must end with eos_id \(2\)"):
        Trainer(Transformer(text), SHORT, pairs(), unended, tmp_path / "text", tokens=BytePairEncoding([]))
    assert "the source of pair 3 has ids that are no whole numbers: [4.7]" in refused(
        tmp_path, train=[*good, ([4.7], [1, 2])]
    )


def test_a_run_that_would_never_end_is_refused(tmp_path):
    said = "a run without a limit never ends: say when to stop: steps, epochs, minutes or patience"
    assert refused(tmp_path, options=Options()) == said
    for limit in ("steps", "epochs", "minutes", "patience"):
        Trainer(Transformer(CONFIG), Options(**{limit: 1}), pairs(), pairs(), tmp_path)


def test_a_folder_that_takes_no_files_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        Trainer(Transformer(CONFIG), SHORT, pairs(), pairs(), tmp_path / "file" / "run")


def test_a_tokeniser_of_another_model_is_refused(tmp_path):
    said = refused(tmp_path, tokens=BytePairEncoding([]))
    assert said == "the tokeniser does not belong to the model: it has 260 tokens, the model 16"


def test_a_tokeniser_of_ones_own_is_taken_and_has_no_file(tmp_path):
    class Own:
        vocab_size, special_ids = 16, BytePairEncoding.special_ids

        def encode(self, text):
            return [4 + int(i) for i in text]

        def decode(self, ids):
            return "".join(str(int(i) - 4) for i in ids)

    class Lower(BytePairEncoding):
        """It would come back as its parent."""

    for tokens, config in ((Own(), CONFIG), (Lower([]), CONFIG.replace(vocab_size=260))):
        folder = tmp_path / type(tokens).__name__
        Trainer(Transformer(config), SHORT, pairs(), pairs(), folder, tokens=tokens).run()
        model, kept = checkpoint.load(folder)
        assert kept is None
        assert not (folder / TOKENS).exists()
        assert Translator(model, tokens).translate(["1 2"] if isinstance(tokens, Lower) else ["12"])
    with pytest.raises(ValueError, match="the tokeniser does not belong to the model"):
        Trainer(Transformer(CONFIG.replace(vocab_size=17)), SHORT, pairs(), pairs(), tmp_path / "x", tokens=Own())


def test_only_a_transformer_is_trained(tmp_path):
    with pytest.raises(TypeError, match=r"model must be a .*Transformer, not Gpt"), unchecked():
        Trainer(Gpt(CONFIG), SHORT, pairs(), pairs(6), tmp_path)


# The folder


def test_a_folder_may_be_named_by_a_string_and_is_made(tmp_path):
    t = Trainer(Transformer(CONFIG), SHORT, pairs(), pairs(6), str(tmp_path / "a" / "b"))
    t.run()
    assert (tmp_path / "a" / "b" / "last.safetensors").exists()


def test_another_run_or_model_in_the_folder_is_not_touched(tmp_path):
    trainer(tmp_path / "run").run()
    checkpoint.save(tmp_path / "model", Transformer(CONFIG))
    (tmp_path / "tokens").mkdir()
    BytePairEncoding([(4, 5)]).save(tmp_path / "tokens" / "tokens.json")
    config = CONFIG.replace(vocab_size=260)
    for name in ("epoch-0001.safetensors", "curves.png", "metrics.jsonl", "log.txt"):
        (tmp_path / name[:5]).mkdir()
        (tmp_path / name[:5] / name).write_text("mine")
    found = {
        "run": "a run (last.safetensors): go on with it (--resume, or Trainer.resume)",
        "model": "model.safetensors: choose another",
    }
    found |= {"tokens": "tokens.json: choose another", "epoch": "epoch-0001.safetensors: choose", "log.t": "log.txt: "}
    found |= {"curve": "curves.png: choose another folder", "metri": "metrics.jsonl: choose another folder"}
    for name, words in found.items():
        before = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        t = trainer(tmp_path / name, config=config, tokens=BytePairEncoding([]))
        with pytest.raises(ValueError, match=re.escape(f"{name} already holds {words}")):
            t.run()
        assert {path.name: path.read_bytes() for path in (tmp_path / name).glob("[!.]*")} == {
            name: content for name, content in before.items() if name[0] != "."
        }


def test_a_run_that_is_there_goes_on_only_when_it_is_resumed(tmp_path):
    trainer(tmp_path).run()
    again = trainer(tmp_path, Options(**vars(SHORT) | {"steps": 12}))
    with pytest.raises(ValueError, match="already holds a run"):
        again.run()
    again.resume()
    assert again.run().step == 12


def test_there_is_a_state_before_the_first_step_and_a_start_that_failed_can_begin_again(tmp_path):
    def killed(event):
        raise KeyboardInterrupt

    t = trainer(tmp_path / "run", report=killed)
    t.gradients = lambda group: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        t.run()
    _, told = checkpoint.read_tensors(tmp_path / "run" / "last.safetensors")
    assert told["progress"]["step"] == 0
    second = trainer(tmp_path / "run")
    second.resume()
    second.run()
    trainer(tmp_path / "whole").run()
    assert_same(state(tmp_path / "whole"), state(tmp_path / "run"))


def test_no_second_run_writes_into_the_folder_while_one_does(tmp_path):
    told = []

    def meddle(event):
        other = trainer(tmp_path, Options(steps=1))
        for act in (other.run, lambda: (other.resume(), other.run())):
            with pytest.raises(ValueError, match="is in use: another run writes there") as error:
                act()
            told.append(str(error.value))

    t = trainer(tmp_path, Options(steps=1), report=meddle)
    t.run()
    assert told
    assert t.lock.is_locked is False


def test_the_tokeniser_is_kept_and_a_translator_reads_what_the_run_left(tmp_path):
    tokens = BytePairEncoding([])
    texts = [("ab", "ba"), ("abc", "cba"), ("b", "b")]
    encoded = encode_pairs(texts, tokens, 32).pairs
    model = Transformer(TINY.replace(vocab_size=tokens.vocab_size))
    seen = []
    t = Trainer(model, Options(steps=2), encoded, encoded, tmp_path, report=seen.append, tokens=tokens)
    t.gradients = lambda group, whole=t.gradients: (
        seen.append(sorted(p.name for p in tmp_path.glob("[!.]*"))) or whole(group)
    )
    t.run()
    assert seen[0] == ["last.safetensors", "tokens.json"], "before the first step"
    loaded = Translator.load(tmp_path)
    assert loaded.translate(["ab"]) == Translator(t.model, tokens).translate(["ab"])
    checkpoint.save(tmp_path / "plain", t.model)
    with pytest.raises(ValueError, match=r"has no tokens.json"):
        Translator.load(tmp_path / "plain")


# The best weights


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_after_a_run_the_model_has_the_best_weights_as_the_folder(tmp_path, ema, monkeypatch):
    t, losses, kept = trainer(tmp_path, Options(epochs=3, batch_tokens=30, ema=ema)), iter([2.0, 1.0, 3.0]), []

    def validate(weights):
        kept.append({name: w.clone() for name, w in weights.items()})
        return next(losses), 0.5

    monkeypatch.setattr(t, "validate", validate)
    t.run()
    assert_same(t.model.state_dict(), kept[1])
    assert_same(checkpoint.load(tmp_path)[0].state_dict(), kept[1])
    assert not torch.equal(state(tmp_path)["model.embedding.weight"], kept[1]["embedding.weight"])


def test_after_a_run_saving_and_running_on_still_mean_the_last_step(tmp_path):
    whole = trainer(tmp_path / "whole", Options(**vars(SHORT) | {"steps": 12}))
    whole.run()
    t = trainer(tmp_path / "parts")
    t.run()
    before = state(tmp_path / "parts")
    t.save()
    assert_same(state(tmp_path / "parts"), before)
    t.options = whole.options
    t.run()
    assert_same(state(tmp_path / "parts"), state(tmp_path / "whole"))


def test_the_mean_of_the_last_epochs_is_the_best_if_it_validates_better(tmp_path, monkeypatch):
    seen = []
    t = trainer(tmp_path, Options(epochs=2, keep=3, batch_tokens=60, warmup=1, ema=0.0), report=seen.append)
    losses = iter([3.0, 2.0, 1.0])
    monkeypatch.setattr(t, "validate", lambda weights: (next(losses), 0.5))
    t.run()
    one, two = (checkpoint.read_tensors(tmp_path / epoch_end(epoch))[0] for epoch in (1, 2))
    assert_same(t.model.state_dict(), halfway(one, two))
    assert seen[-1] == EpochMean(t.progress.step, 2, 1.0), "two epochs there were, though three may be kept"


def test_what_is_kept_of_an_epoch_is_the_model_and_not_its_average_and_a_lost_one_stops_nobody(tmp_path):
    t = trainer(tmp_path, Options(epochs=1, keep=1, batch_tokens=60, ema=0.5))
    t.run()
    first = tmp_path / epoch_end(1)
    assert_same(checkpoint.read_tensors(first)[0], part(state(tmp_path), "model"))
    first.unlink()
    t = trainer(tmp_path, Options(epochs=2, keep=1, batch_tokens=60, ema=0.5))
    t.resume()
    t.run()
    assert [path.name for path in tmp_path.glob("epoch-*")] == [epoch_end(2)]


def test_the_mean_that_was_kept_is_not_replaced_by_something_worse(tmp_path, monkeypatch):
    options = {"keep": 2, "batch_tokens": 60, "ema": 0.0}
    t = trainer(tmp_path, Options(epochs=2, **options))
    losses = iter([3.0, 2.0, 1.0])
    monkeypatch.setattr(t, "validate", lambda weights: (next(losses), 0.5))
    t.run()
    kept = checkpoint.load(tmp_path)[0].state_dict()
    again, seen = trainer(tmp_path, Options(epochs=3, **options)), []
    again.resume()
    again.report, later = seen.append, iter([1.5, 1.2])
    monkeypatch.setattr(again, "validate", lambda weights: (next(later), 0.5))
    again.run()
    assert not any(event.best for event in seen if isinstance(event, Validation))
    assert_same(checkpoint.load(tmp_path)[0].state_dict(), kept)


@pytest.mark.parametrize("where", ["gradients", "validate"])
def test_a_run_that_was_interrupted_within_a_step_goes_on_from_what_is_on_the_disk(tmp_path, monkeypatch, where):
    options = Options(**vars(SHORT) | {"accumulate": 2, "save_every": 2})
    trainer(tmp_path / "whole", options).run()
    t, calls = trainer(tmp_path / "parts", options), []
    act = getattr(t, where)

    def interrupted(*given):
        found = act(*given)
        calls.append(found)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patched:
        patched.setattr(t, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            t.run()
    t.save()  # nothing: what is in memory is half of a step
    t.run()
    assert_same(state(tmp_path / "parts"), state(tmp_path / "whole"))


def test_two_trainers_one_after_the_other_do_not_take_each_other_s_progress_away(tmp_path):
    trainer(tmp_path / "run", Options(**vars(SHORT) | {"steps": 3})).run()
    one, other = (trainer(tmp_path / "run", Options(**vars(SHORT) | {"steps": steps})) for steps in (6, 9))
    one.resume()
    other.resume()
    one.run()
    assert other.run().step == 9
    trainer(tmp_path / "whole").run()
    assert_same(state(tmp_path / "run"), state(tmp_path / "whole"))


def test_where_the_best_model_was_taken_away_the_next_one_is_the_best(tmp_path):
    t = trainer(tmp_path)
    t.run()
    (tmp_path / "model.safetensors").unlink()
    again = trainer(tmp_path)
    again.resume()
    again.run()
    assert_same(checkpoint.load(tmp_path)[0].state_dict(), again.model.state_dict())


# Hostile and damaged states


OTHER = {"n_heads": 4, "dropout": 0.5, "activation": "gelu", "norm_eps": 1e-3, "final_norm": True, "bos_id": 3}


@pytest.mark.parametrize("name", OTHER)
def test_a_run_goes_on_only_with_the_sizes_and_settings_that_it_began_with(tmp_path, name):
    trainer(tmp_path).run()
    changes = {name: OTHER[name]} | ({"unk_id": 1} if name == "bos_id" else {})
    train, valid = pairs(), pairs(6, seed=1)
    if name == "bos_id":
        train, valid = ([(s, [3, *t[1:]]) for s, t in part] for part in (train, valid))
    other = Trainer(Transformer(CONFIG.replace(**changes)), SHORT, train, valid, tmp_path)
    other.fingerprint = trainer(tmp_path).fingerprint
    with pytest.raises(ValueError, match=rf"last\.safetensors was trained with another (d_k|{name}): "):
        other.resume()
    trainer(tmp_path, config=CONFIG.replace(fused=False)).resume()


def test_a_state_names_no_file_but_those_of_its_own_epochs(tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    folder = tmp_path / "run"
    trainer(folder, Options(epochs=3, keep=1, batch_tokens=60)).run()
    tensors, told = checkpoint.read_tensors(folder / "last.safetensors")
    for kept in (["../victim.txt"], [str(victim)], [0], [4], [2, 1], [1, 1], [True], [1.0], "1", None, [[1]]):
        told["progress"]["kept"] = kept
        checkpoint.write_tensors(folder / "last.safetensors", tensors, told)
        with pytest.raises(
            ValueError, match=r"last\.safetensors holds no state .*: kept .* must be epochs from 1 to 3"
        ):
            trainer(folder, Options(epochs=5, keep=1, batch_tokens=60)).resume()
    assert victim.read_text() == "mine"


NUMBERS = ("step", "epoch", "batch", "seconds", "tokens", "best", "waited")
BAD = [None, "3", [], {}, -1, True, float("nan")]


@pytest.mark.parametrize("name", NUMBERS)
def test_every_wrong_number_of_a_state_is_told(tmp_path, name):
    trainer(tmp_path).run()
    tensors, told = checkpoint.read_tensors(tmp_path / "last.safetensors")
    for value in BAD if name in ("seconds", "best") else [*BAD, 0.5]:
        wrong = {**told, "progress": {**told["progress"], name: value}}
        checkpoint.write_tensors(tmp_path / "last.safetensors", tensors, wrong)
        with pytest.raises(ValueError, match=rf"last\.safetensors holds no state of a run: {name} "):
            trainer(tmp_path).resume()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"progress": 3}, "it must have batch, best, "),
        ({"progress": {}}, "it must have batch, best, "),
        ({"options": [1]}, r"options \(\[1\]\) must be an object"),
        ({"options": {"stepz": 3}}, "no option of this version: stepz"),
        ({"options": {"ema": "x"}}, r"ema \('x'\) must be a number"),
        ({"options": {"warmup": None}}, r"warmup \(None\) must be a whole number"),
    ],
)
def test_a_state_of_another_make_is_told(tmp_path, change, message):
    trainer(tmp_path).run()
    tensors, told = checkpoint.read_tensors(tmp_path / "last.safetensors")
    checkpoint.write_tensors(tmp_path / "last.safetensors", tensors, told | change)
    with unchecked(), pytest.raises(ValueError, match=rf"last\.safetensors holds no state of a run: {message}"):
        trainer(tmp_path).resume()


def test_a_state_with_another_type_of_numbers_is_refused(tmp_path):
    trainer(tmp_path).run()
    tensors, told = checkpoint.read_tensors(tmp_path / "last.safetensors")
    name = "adam.exp_avg.embedding.weight"
    checkpoint.write_tensors(tmp_path / "last.safetensors", tensors | {name: tensors[name].half()}, told)
    with pytest.raises(ValueError, match=rf"{name} has the dtype torch.float16, not torch.float32"):
        trainer(tmp_path).resume()


def test_the_same_ids_are_the_same_pairs_whatever_holds_them():
    arrays = [tuple(map(np.array, pair)) for pair in pairs(3)]
    with unchecked():
        assert fingerprint(arrays, arrays) == fingerprint(pairs(3), pairs(3))


# The figures


def test_each_question_shows_what_it_sees_and_what_is_asked():
    figure = figures.train.questions(["a", "b"], ["b", "c"], causal_mask(2))
    (axes,) = figure.axes
    figure.draw_without_rendering()
    written = {(round(t.get_position()[1] - 0.5), t.get_text()) for t in axes.texts if t.get_text() in "abc"}
    assert written - {(0, ""), (1, "")} == {(0, "a"), (0, "b"), (1, "a"), (1, "b"), (1, "c")}
    hatched = [box.get_xy() for box in axes.patches if getattr(box, "get_hatch", lambda: None)() == "////"]
    assert [tuple(int(x) for x in place) for place in hatched] == [(1, 0)], "only the future is hidden"


def test_a_tile_is_filled_where_a_token_is_real():
    real = {"one": np.array([[1, 1, 0], [1, 0, 0]]), "two": np.array([[1]])}
    for axes, (title, grid) in zip(figures.train.grids(real).axes, real.items(), strict=True):
        filled = [tuple(int(x) for x in box.get_xy()) for box in axes.patches if box.get_facecolor()[:3] != (1, 1, 1)]
        assert axes.get_title(loc="left") == title
        assert filled == [(j, i) for i, j in np.argwhere(grid)]
        assert axes.get_xlim() == (0, 3), "both on one scale"


def test_losses_begin_at_step_one_and_levels_are_named():
    (axes,) = figures.train.losses({"a": [3.0, 2.0], "b": [1.0]}, {"floor": 0.5}).axes
    a, b, level = axes.lines
    assert (a.get_xdata().tolist(), list(a.get_ydata()), a.get_label()) == ([1, 2], [3.0, 2.0], "a")
    assert (b.get_xdata().tolist(), list(b.get_ydata())) == ([1], [1.0])
    assert list(level.get_ydata()) == [0.5, 0.5]
    assert [(t.get_text(), *t.xy) for t in axes.texts] == [("floor", 2, 0.5), ("a", 2, 2.0), ("b", 1, 1.0)]
    assert a.get_linestyle() != b.get_linestyle(), "not by colour alone"


def test_a_run_that_is_told_every_ten_steps_is_drawn_there():
    (axes,) = figures.train.losses({"a": [3.0, 2.0]}, every=10).axes
    assert axes.lines[0].get_xdata().tolist() == [10, 20]


def test_of_two_curves_the_area_between_them_is_coloured_where_the_first_is_higher():
    (axes,) = figures.train.apart({"right": [3.0, 2.0, 0.5], "wrong": [3.0, 1.0, 0.5]}, "ahead", at=20, every=10).axes
    assert [(line.get_xdata().tolist(), list(line.get_ydata())) for line in axes.lines] == [
        ([10, 20, 30], [3.0, 2.0, 0.5]),
        ([10, 20, 30], [3.0, 1.0, 0.5]),
    ]
    assert axes.lines[0].get_linestyle() != axes.lines[1].get_linestyle(), "not by colour alone"
    assert [(t.get_text(), *t.xy) for t in axes.texts] == [
        ("right", 20, 2.0),
        ("wrong", 20, 1.0),
        ("ahead", 20, 1.5),
        ("both 0.50", 30, 0.5),
    ]
    assert len(axes.collections) == 1


def test_what_was_written_has_its_right_words_filled():
    rows = {"step 0": [("Auto", False)], "step 9": [("Ich", True), ("Auto", False)]}
    (axes,) = figures.train.written("I love AI.", rows).axes
    assert [t.get_text() for t in axes.texts] == ["I love AI.", "step 0", "Auto", "step 9", "Ich", "Auto"]
    assert [box.get_facecolor()[3] for box in axes.patches] == [0, 1, 0]
    heights = [box.get_y() for box in axes.patches]
    assert heights[0] > heights[1] == heights[2]


def test_chances_have_a_panel_for_each_token_and_a_line_for_each_sentence():
    figure = figures.train.chances({"article": {"chair": [0.0, 0.4], "lamp": [0.1, 0.9]}, "pronoun": {"chair": [0, 1]}})
    article, pronoun = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["article", "pronoun"]
    assert [(line.get_label(), list(line.get_ydata())) for line in article.lines] == [
        ("chair", [0.0, 0.4]),
        ("lamp", [0.1, 0.9]),
    ]
    assert article.lines[0].get_linestyle() != article.lines[1].get_linestyle(), "not by colour alone"
    assert [list(line.get_xdata()) for line in pronoun.lines] == [[1, 2]], "after each step"

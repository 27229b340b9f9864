"""One loop for every kind of model: each learns, goes on after a stop as if there had been none, and may be shared."""

import multiprocessing
import os
from math import log

import numpy as np
import pytest
import torch
from helpers import unchecked
from torch import nn
from torch.nn import functional as F

from tested_transformer.config import TINY
from tested_transformer.model.bert import Bert, Classifier, MaskedLM, Pretraining
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.model.patches import VisionTransformer
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint
from tested_transformer.training.adam import create_adam, create_adamw
from tested_transformer.training.distributed import World
from tested_transformer.training.events import Step, Validation
from tested_transformer.training.objective import Labels, LanguageModel, MaskedWords, NextToken
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

CONFIG, MASK = TINY.replace(dropout=0.1), 4
RNG = np.random.default_rng(0)
LENGTHS = [int(n) for n in RNG.integers(2, 8, 24)]
TEXTS = [[5, *(RNG.integers(6, 16, n)).tolist()] for n in LENGTHS]


def bert(config=CONFIG):
    return Bert(config)


def ranks(kind):
    """A model of this kind under its objective, and examples for it."""
    torch.manual_seed(0)
    if kind == "translator":
        pairs = [([*text, 2], [1, *text[::-1], 2]) for text in TEXTS]
        return NextToken(Transformer(CONFIG), 0.1), pairs
    if kind in ("GPT", "Llama"):
        model = Gpt(CONFIG) if kind == "GPT" else Llama(LlamaConfig(16, 16, 32, 2, 2, max_len=32, n_kv_heads=1))
        return LanguageModel(model), TEXTS
    if kind in ("masked words", "pre-training"):
        body = MaskedLM if kind == "masked words" else Pretraining
        return MaskedWords(body(bert()), MASK), [(text, text[1:3]) for text in TEXTS]
    if kind == "classifier":
        return Labels(Classifier(bert(), 3)), [([1, *text, 2], text[1] % 3) for text in TEXTS]
    pictures = np.random.default_rng(1).normal(size=(24, 1, 4, 4)).astype("float32")
    return Labels(VisionTransformer(CONFIG.replace(max_len=5), 2, 2, 1)), [(x, int(x.sum() > 0)) for x in pictures]


KINDS = ("translator", "GPT", "Llama", "masked words", "pre-training", "classifier", "pictures")
HOW = {"batch_tokens": 60, "warmup": 4, "rate_scale": 0.5, "save_every": 3, "accumulate": 2}


def trainer(kind, folder, world=None, **options):
    objective, examples = ranks(kind)
    seen, how = [], Options(**HOW | options)
    made = Trainer(objective, how, examples[4:], examples[:4], folder, world or World(), seen.append)
    return made, seen


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns_and_its_best_weights_are_in_the_folder(kind, tmp_path):
    t, seen = trainer(kind, tmp_path, epochs=25, ema=0.0)
    t.run()
    losses = [event.loss for event in seen if isinstance(event, Step)]
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:5])
    best = min(event.loss for event in seen if isinstance(event, Validation))
    assert t.progress.best == best
    found = checkpoint.load(tmp_path, "cpu", kind=type(t.model))[0].state_dict()
    assert all(torch.equal(found[name], w) for name, w in t.model.state_dict().items())
    assert t.validate(found)[0] == best


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_goes_on_bit_for_bit(kind, tmp_path):
    options = {"weight_decay": 0.1, "clip": 1.0, "steps": 12, "schedule": "cosine"}
    whole, events = trainer(kind, tmp_path / "whole", **options)
    whole.run()
    first, before = trainer(kind, tmp_path / "parts", **options)
    first.report = lambda event: (before.append(event), getattr(event, "step", 0) == 7 and first.stop())
    first.run()
    assert first.progress.step == 7
    second, after = trainer(kind, tmp_path / "parts", **options)
    nn.init.zeros_(next(second.model.parameters()))  # whatever it had, the state replaces it
    second.resume()
    second.run()
    told = [(e.step, e.loss, e.accuracy) for e in (*before, *after) if isinstance(e, Step)]
    assert told == [(e.step, e.loss, e.accuracy) for e in events if isinstance(e, Step)]
    ends = [checkpoint.read_tensors(tmp_path / name / "last.safetensors")[0] for name in ("whole", "parts")]
    assert ends[0].keys() == ends[1].keys()
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def of_two(kind, folder, rank, found):
    """What one of two processes sees."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    meet = f"file://{folder / 'meet'}"
    torch.distributed.init_process_group("gloo", init_method=meet, rank=rank, world_size=2)
    t, seen = trainer(kind, folder / "run", World(rank, 2), steps=4, accumulate=1, clip=0.5)
    for module in t.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    t.run()
    torch.distributed.destroy_process_group()
    found.put((rank, [(e.loss, e.accuracy) for e in seen if isinstance(e, (Step, Validation))]))


@pytest.mark.parametrize("kind", ["translator", "GPT", "pre-training", "pictures"])
def test_two_processes_learn_as_one_does(kind, tmp_path):
    alone, seen = trainer(kind, tmp_path / "alone", steps=4, accumulate=1, clip=0.5)
    for module in alone.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    alone.run()
    wanted = [(e.loss, e.accuracy) for e in seen if isinstance(e, (Step, Validation))]
    context = multiprocessing.get_context("fork")
    found = context.Queue()
    both = [context.Process(target=of_two, args=(kind, tmp_path, rank, found)) for rank in (0, 1)]
    for process in both:
        process.start()
    told = dict(found.get(timeout=120) for _ in both)
    for process in both:
        process.join()
    for rank in (0, 1):
        torch.testing.assert_close(torch.tensor(told[rank]), torch.tensor(wanted), rtol=0, atol=1e-6)


def test_a_text_is_asked_for_all_but_its_first_token_and_no_padding():
    model = Gpt(TINY).eval()
    objective = LanguageModel(model).eval()
    batch = objective.tensors([[5, 6, 7], [5, 0]], ())  # the id of padding may be a word: GPT-2 has it at both ends
    summed, right = objective(*batch)
    assert objective.count(batch) == 3
    one, other = (model(torch.tensor([ids])).log_softmax(-1)[0] for ids in ([5, 6], [5]))
    assert summed.item() == pytest.approx(-(one[0, 6] + one[1, 7] + other[0, 0]).item(), rel=1e-6)
    guessed = [one[0].argmax() == 6, one[1].argmax() == 7, other[0].argmax() == 0]
    assert right.item() == sum(map(int, guessed))


def test_smoothing_of_a_language_model_counts_in_training_only():
    objective = LanguageModel(Gpt(TINY), smoothing=0.3)
    batch = objective.tensors([[5, 6, 7]], ())
    plain = LanguageModel(objective.model)(*batch)[0]
    assert objective.eval()(*batch)[0].item() == plain.item()
    assert objective.train()(*batch)[0].item() != plain.item()


def test_hidden_words_change_with_the_reading_and_not_with_the_number_of_processes():
    objective, examples = ranks("masked words")
    first, again, later = ([*objective.batches(examples, 60, 3, epoch, 0, 0, 1)] for epoch in (0, 0, 1))
    for a, b in zip(first, again, strict=True):
        assert all(map(torch.equal, a, b))
    assert any(a[0].shape != b[0].shape or (a[0] != b[0]).any() for a, b in zip(first, later, strict=True))
    shares = [[*objective.batches(examples, 60, 3, 0, 0, rank, 2)] for rank in (0, 1)]
    for whole, one, other in zip(first, *shares, strict=True):
        for rows, a, b in zip(whole, one, other, strict=True):
            assert torch.equal(rows[0::2], a)
            assert torch.equal(rows[1::2], b)


def test_the_loss_of_hidden_words_is_that_of_chosen_places_for_both_kinds_of_model():
    body = bert(TINY)
    two = [MaskedWords(kind(body), MASK).eval() for kind in (MaskedLM, Pretraining)]
    two[1].model.word_head = two[0].model.word_head
    batch = two[0].tensors([(TEXTS[0], TEXTS[1]), (TEXTS[2], ())], (1, 2))
    ids, chosen, wanted, segments = batch
    logits = two[0].model(ids, segments)[chosen]
    summed = F.cross_entropy(logits, wanted[chosen], reduction="sum").item()
    assert [objective(*batch)[0].item() for objective in two] == pytest.approx([summed, summed], rel=1e-6)
    assert two[0].count(batch) == int(chosen.sum()) > 0


def test_labels_of_an_untrained_classifier_cost_the_logarithm_of_their_number():
    objective, examples = ranks("classifier")
    batch = objective.eval().tensors(examples[:5], ())
    summed, _ = objective(*batch)
    assert objective.count(batch) == 5
    assert summed.item() == pytest.approx(5 * log(3), rel=1e-6)


def test_a_picture_takes_as_many_tokens_as_the_encoder_reads():
    objective, examples = ranks("pictures")
    batch = next(objective.batches(examples, 15, 0, 0, 0, 0, 1))
    assert batch[0].shape == (3, 1, 4, 4)  # four patches and the class token each


def test_a_run_goes_on_with_its_own_objective_only(tmp_path):
    t, _ = trainer("masked words", tmp_path, steps=2)
    t.run()
    objective, examples = ranks("masked words")
    objective.mask_id = 5
    other = Trainer(objective, t.options, examples[4:], examples[:4], tmp_path)
    with pytest.raises(ValueError, match="another mask_id: 4, now 5"):
        other.resume()


def test_a_state_of_before_there_were_kinds_is_that_of_a_translator(tmp_path):
    t, _ = trainer("translator", tmp_path, steps=2)
    t.run()
    tensors, told = checkpoint.read_tensors(tmp_path / "last.safetensors")
    del told["learns"]
    for name in ("clip", "schedule", "weight_decay"):
        del told["options"][name]
    checkpoint.write_tensors(tmp_path / "last.safetensors", tensors, told)
    again, _ = trainer("translator", tmp_path, steps=2)
    again.resume()
    assert again.progress.step == 2


WRONG = [
    ("GPT", [[5]], ValueError, r"train: text 0 has 1 ids; there must be at least 2 and at most 33"),
    ("GPT", [[5, 16]], ValueError, r"train: text 0 has ids from 5 to 16; all must be at least 0 and below 16"),
    ("GPT", [[5, 6.5]], TypeError, r"train: text 0 has ids that are no whole numbers"),
    ("GPT", [], ValueError, r"train has no examples"),
    ("masked words", [[5, 6]], TypeError, r"text 0 must be a pair"),
    ("masked words", [([5] * 40, ())], ValueError, r"train: text 0 has 42 ids; .* at most 32"),
    ("classifier", [([5, 6], 3)], ValueError, r"train: the label 3 of example 0 must be at least 0 and below 3"),
    ("classifier", [[5, 6, 7]], TypeError, r"train: example 0 must be \(what is read, its label\)"),
    ("classifier", [([5, 6], 0.5)], TypeError, r"label of example 0 \(0.5\) must be"),
    ("pictures", [(np.zeros((3, 4, 4)), 0)], ValueError, r"picture 0 has the shape \(3, 4, 4\)"),
    ("pictures", [(np.zeros((1, 5, 4)), 0)], ValueError, r"2 must divide both sides"),
    ("pictures", [(np.zeros((1, 8, 8)), 0)], ValueError, r"4 patches are most"),
]


@pytest.mark.parametrize(("kind", "examples", "error", "rule"), WRONG)
def test_examples_that_teach_nothing_are_refused_before_there_is_a_folder(kind, examples, error, rule, tmp_path):
    objective, good = ranks(kind)
    with unchecked(), pytest.raises(error, match=rule):
        Trainer(objective, Options(steps=1), examples, good, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_has_the_objective_of_its_kind():
    for objective, model in ((LanguageModel, Transformer(TINY)), (Labels, Gpt(TINY))):
        with unchecked(), pytest.raises(TypeError, match="model must be a"):
            objective(model)
    with pytest.raises(ValueError, match=r"mask_id \(16\) must be at least 0 and below 16"):
        MaskedWords(MaskedLM(bert()), 16)


def test_weight_decay_draws_matrices_and_nothing_else():
    model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    nn.init.ones_(model[0].weight)
    nn.init.ones_(model[0].bias)
    adamw = create_adamw(model, 0.1, lr=0.5)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    adamw.step()
    assert torch.allclose(model[0].weight, torch.full((2, 2), 0.95))
    assert torch.equal(model[0].bias, torch.ones(2))
    assert torch.equal(model[1].weight, torch.ones(2))
    plain = create_adam(model.parameters()).defaults
    assert all(adamw.defaults[name] == plain[name] for name in ("betas", "eps"))


def test_a_gradient_is_cut_to_its_largest_length(tmp_path, monkeypatch):
    lengths = []
    for clip in (0.0, 0.05):
        t, _ = trainer("GPT", tmp_path / str(clip), steps=1, clip=clip)
        step = t.adam.step
        monkeypatch.setattr(t.adam, "step", lambda t=t, step=step: (lengths.append(length(t.model)), step()))
        t.run()
    assert lengths[0] > 0.1
    assert lengths[1] == pytest.approx(0.05, rel=1e-4)


def length(model):
    return sum(p.grad.square().sum() for p in model.parameters() if p.grad is not None).sqrt().item()

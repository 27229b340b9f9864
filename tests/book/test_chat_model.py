"""A chat model, opened: on a tiny one with random numbers, where each experiment has an answer that is known."""

import numpy as np
import pytest
import torch
from guards import BOOK, ROOT

from tested_transformer.book import chat_model, pronoun_heads
from tested_transformer.config import SpecialIds
from tested_transformer.decoding.conversation import Conversation
from tested_transformer.files import read_json
from tested_transformer.model.llama import Llama, LlamaConfig
from tested_transformer.text._published import AddedToken
from tested_transformer.text.byte_level import ALPHABET, ByteLevelBPE

SIZES = {"d_model": 16, "d_ff": 32, "n_heads": 4, "n_kv_heads": 2, "n_layers": 3, "dropout": 0.0, "max_len": 64}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    made = Llama(LlamaConfig(vocab_size=50, **SIZES)).double().eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.dim() == 2:
                weight.normal_(0, 0.5)
    return made


@pytest.fixture(scope="module")
def tokens():
    vocab = {char: i for i, char in enumerate(ALPHABET.values())}
    marks = [AddedToken(mark, 256 + n) for n, mark in enumerate(("<|im_start|>", "<|im_end|>"))]
    return ByteLevelBPE(vocab, [], SpecialIds(257, 257, 257, 257), marks)


def ids(*rows):
    return torch.tensor(rows)


ONE, TWO = ids([5, 6, 7, 8, 9]), ids([5, 6, 17, 8, 9])


def test_the_last_residuals_are_what_the_model_says(model):
    rows = chat_model.residuals(model, ONE)
    assert rows.shape == (4, 1, 5, 16)
    assert torch.allclose(chat_model.lens(model, rows[-1]), model(ONE))
    assert torch.equal(rows[0], model.embed(ONE))


def test_rows_exchanged_before_all_layers_are_the_other_text_and_after_all_nothing(model):
    rows, other = (chat_model.residuals(model, x) for x in (ONE, TWO))
    found = chat_model.exchanged(model, rows, other, [2])
    assert torch.allclose(found[0], model(TWO)[0, -1])
    assert torch.allclose(found[-1], model(ONE)[0, -1])
    assert not torch.allclose(found[1], found[0])
    whole = chat_model.exchanged(model, rows, other, range(5))  # after any layer: all of the other text
    assert torch.allclose(whole, model(TWO)[0, -1].expand(4, -1))
    later = chat_model.exchanged(model, rows, other, [2], first=2)
    assert torch.allclose(later, found[2:])


@pytest.mark.parametrize("first", [0, 3])
def test_heads_and_finish_are_the_model_taken_apart(model, first):
    rows = chat_model.residuals(model, ONE)
    for layer in range(3):
        done = chat_model.heads(model, layer, rows[layer][:, :first], rows[layer][:, first:])
        assert torch.allclose(done.weights.sum(-1), torch.ones_like(done.weights[..., 0]))
        args = rows[:, :, :first], rows[layer][:, first:].repeat(2, 1, 1), done.out.repeat(2, 1, 1, 1)
        found = chat_model.finish(model, layer, *args)
        assert torch.allclose(found, model(ONE)[:, -1].expand(2, -1))


def test_a_hidden_position_has_no_weight(model):
    rows = chat_model.residuals(model, ONE)
    done = chat_model.heads(model, 1, rows[1][:, :3], rows[1][:, 3:], hidden=[2])
    assert (done.weights[..., 2] == 0).all()
    assert torch.allclose(done.weights.sum(-1), torch.ones(1, 4, 2, dtype=torch.float64))


def test_positions_that_are_the_usual_ones_change_nothing_and_moving_all_neither(model):
    both, places = torch.cat([ONE, TWO]), torch.arange(5)
    usual = model(both)[:, -1].softmax(-1)
    assert torch.allclose(chat_model.at_positions(model, both, places), usual)
    assert torch.allclose(chat_model.at_positions(model, both, places + 10_000), usual)
    apart = chat_model.at_positions(model, both, places + 7 * (places > 2))
    assert not torch.allclose(apart, usual, atol=1e-4)


def test_write_takes_the_likeliest_and_stops(model):
    steps = chat_model.write(model, [5, 6], set(), most=4)
    text = [5, 6, *(step.id for step in steps)]
    with torch.no_grad():
        p = model(torch.tensor([text]))[0].softmax(-1)
    for n, step in enumerate(steps, 1):
        assert step.id == p[n].argmax()
        assert step.p == pytest.approx(float(p[n].max()))
        assert step.p_other == pytest.approx(float(p[n].topk(2).values[1]))
    assert chat_model.write(model, [5, 6], {steps[0].id}, most=4) == steps[:1]


def test_surprise_is_the_sum_over_all_but_the_first(model):
    with torch.no_grad():
        logs = model(ONE)[0].log_softmax(-1)
    expected = -sum(float(logs[n, i]) for n, i in enumerate(ONE[0, 1:].tolist()))
    assert chat_model.surprise(model, ONE[0].tolist()) == pytest.approx(expected)


def test_a_prompt_is_read_side_by_side_and_then_token_by_token(model):
    found = chat_model.steps_of_cache(model, ONE[0].tolist(), 3)
    assert [one.size(1) for one in found] == [3, 1, 1]
    assert torch.allclose(torch.cat(found, 1), model(ONE))


def test_draw_takes_what_the_points_hit(model):
    ids_, near = chat_model.draw(model, [5, 6], set(), 1.0, torch.Generator().manual_seed(3), 6)
    points = torch.rand(6, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        p = model(torch.tensor([[5, 6, *ids_]]))[0, 1:-1].softmax(-1)
    ends = p.cumsum(-1)
    assert ids_ == (ends <= points).sum(-1).tolist()
    assert near == pytest.approx(float((ends - points).abs().min()))
    cold, _ = chat_model.draw(model, [5, 6], set(), 1e-3, torch.Generator().manual_seed(3), 4)
    assert cold == [step.id for step in chat_model.write(model, [5, 6], set(), 4)]


def test_the_template_is_that_of_a_conversation(tokens):
    torch.manual_seed(0)
    writer = Llama(
        LlamaConfig(vocab_size=258, pad_id=257, bos_id=257, eos_id=257, unk_id=257, **SIZES | {"max_len": 200})
    ).eval()
    turns = [("system", "Be brief."), ("user", "Hi <|im_end|>!")]
    chat = Conversation(writer, tokens, system="Be brief.")
    next(iter(chat.say("Hi <|im_end|>!", 1)), None)
    found = chat_model.chatml(tokens, turns)
    assert chat.ids[: len(found)] == found
    assert found.count(257) == 2


@pytest.fixture(scope="module")
def asked():
    twin = torch.tensor([1, 0])
    own = torch.tensor([30, 31])
    return pronoun_heads.Asked(torch.cat([ONE, TWO]), 2, 3, twin, own, own[twin])


def test_a_sentence_that_becomes_its_twin_has_moved_all_the_way_and_one_that_stays_not_at_all(model, asked):
    plain = model(asked.ids)[:, -1].detach()
    assert pronoun_heads.moved(plain, plain, asked).tolist() == [0, 0]
    assert torch.allclose(pronoun_heads.moved(plain[asked.twin], plain, asked), torch.ones(2, dtype=torch.float64))
    alike = plain.mean(0).expand(2, -1)
    assert torch.allclose(pronoun_heads.lost(alike, plain, asked), torch.ones(2, dtype=torch.float64))
    assert pronoun_heads.lost(plain, plain, asked).tolist() == [0, 0]


def test_with_the_rows_of_its_noun_a_sentence_is_its_twin(model, asked):
    rows = chat_model.residuals(model, asked.ids)
    plain = chat_model.lens(model, rows[-1][:, -1])
    assert torch.allclose(pronoun_heads.with_rows(model, asked, rows, [2]), plain[asked.twin])
    assert torch.allclose(pronoun_heads.with_rows(model, asked, rows, [0]), plain)


def test_where_nobody_sees_the_noun_it_decides_nothing(model, asked):
    plain = model(asked.ids)[:, -1].detach()
    found = pronoun_heads.blind(model, asked, [3, 4])
    assert torch.allclose(found[0], found[1])
    assert not torch.allclose(pronoun_heads.blind(model, asked, [3])[0], found[0])
    assert torch.allclose(pronoun_heads.blind(model, asked, []), plain)


def test_effects_are_those_of_one_head_after_the_other(model, asked):
    rows = chat_model.residuals(model, asked.ids)
    plain = chat_model.lens(model, rows[-1][:, -1])
    found = pronoun_heads.effects(model, asked, rows, 1)
    assert found.shape == (5, 4, 2)
    done = chat_model.heads(model, 1, rows[1][:, :3], rows[1][:, 3:])
    assert torch.allclose(found[0], done.weights[:, :, 0, 2].T)
    out = done.out.clone()
    out[:, 2, 0] = done.out[asked.twin][:, 2, 0]
    logits = chat_model.finish(model, 1, rows[:, :, :3], rows[1][:, 3:], out)
    assert torch.allclose(found[1, 2], pronoun_heads.moved(logits, plain, asked))
    cut = chat_model.heads(model, 1, rows[1][:, :3], rows[1][:, 3:], [2]).out
    out = done.out.clone()
    out[:, 3] = cut[:, 3]
    logits = chat_model.finish(model, 1, rows[:, :, :3], rows[1][:, 3:], out)
    assert torch.allclose(found[4, 3], pronoun_heads.lost(logits, plain, asked))
    assert torch.allclose(pronoun_heads.effects(model, asked, rows, 1, [3]), found[:, 3:])


def test_the_record_is_as_the_tool_has_written_it():
    told = read_json(BOOK / "results" / "chat.json", "record")
    assert told["nouns"] == pronoun_heads.NOUNS
    assert [frame["frame"] for frame in told["frames"]] == [*pronoun_heads.FRAMES]
    assert (ROOT / told["command"]).is_file()
    for frame in told["frames"]:
        assert np.shape([*frame["heads"].values()]) == (5, 30, 9)
        assert tuple(frame["heads"]) == pronoun_heads.KINDS

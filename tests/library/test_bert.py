"""BERT: what is added up, who sees whom, what is asked, and what is refused."""

import pytest
import torch
from helpers import ragged, randomised, unchecked
from torch.nn import functional as F

from tested_transformer.config import Config
from tested_transformer.model.bert import (
    BERT_BASE,
    ROBERTA_BASE,
    Bert,
    Classifier,
    DistilBert,
    MaskedLM,
    Pretraining,
    SentenceBert,
    WordHead,
)
from tested_transformer.model.embedding import look_up
from tested_transformer.model.encoder import Encoder

CONFIG = Config(30, 8, 16, 2, 2, dropout=0.0, max_len=12, activation="gelu", attention_bias=True, norm_eps=1e-12)
IDS = torch.tensor(ragged(3, 9, 30))
SEGMENTS = (torch.arange(9) >= 4).long().expand(3, 9) * (IDS != 0)


def bert(**settings):
    return randomised(Bert(CONFIG, **settings)).eval()


def test_three_rows_are_added_and_normed():
    model = bert()
    token, position, segment = model.tokens.weight[7], model.positions.table[1], model.segments.weight[1]
    found = model.embed(torch.tensor([[5, 7]]), torch.tensor([[0, 1]]))[0, 1]
    expected = F.layer_norm(token + position + segment, (8,), model.norm.weight, model.norm.bias, 1e-12)
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)


def test_the_stack_is_the_encoder_of_the_book_under_the_padding_mask():
    model = bert()
    assert type(model.encoder) is Encoder
    mask = (IDS != 0)[:, None, None, :]
    expected = model.encoder(model.embed(IDS, SEGMENTS), mask)
    assert torch.equal(model(IDS, SEGMENTS), expected)


def test_padding_changes_nothing():
    model = bert()
    alone = model(IDS[1:2, :5])
    padded = model(F.pad(IDS[1:2, :5], (0, 4)))
    assert torch.allclose(alone, padded[:, :5], rtol=0, atol=1e-12)


def test_a_token_sees_left_and_right():
    model, other = bert(), IDS.clone()
    other[0, 4] = (other[0, 4] - 3 + 1) % 27 + 3
    assert (model(IDS)[0] - model(other)[0]).abs().amax(-1).min() > 1e-6


def test_a_segment_changes_the_vectors_and_the_first_is_the_default():
    model = bert()
    assert torch.equal(model(IDS), model(IDS, torch.zeros_like(IDS)))
    assert not torch.allclose(model(IDS), model(IDS, SEGMENTS), atol=1e-3)


def test_positions_begin_where_they_are_told_to():
    model = bert(first_position=2)
    by_hand = model.norm(model.tokens(IDS) + model.positions.table[2:11] + model.segments.weight[0])
    assert torch.allclose(model.embed(IDS)[IDS != 0], by_hand[IDS != 0], rtol=0, atol=1e-12)


def test_512_tokens_are_the_most_for_both_published_sizes():
    for config, settings in ((BERT_BASE, {}), (ROBERTA_BASE, {"n_segments": 1, "first_position": 2})):
        model = Bert(config.replace(d_model=8, d_ff=8, n_heads=2, n_layers=1, vocab_size=200), **settings)
        assert model(torch.full((1, 512), 7)).shape == (1, 512, 8)
        with pytest.raises(ValueError, match="must not exceed max_len"):
            model(torch.full((1, 513), 7))


def test_pooling_takes_the_first_vector_through_a_layer_and_tanh():
    model, x = bert(), torch.randn(3, 5, 8, dtype=torch.float64)
    expected = torch.tanh(x[:, 0] @ model.pooler.weight.T + model.pooler.bias)
    assert torch.allclose(model.pool(x), expected, rtol=0, atol=1e-12)


def test_without_a_pooler_there_is_none_and_nothing_that_needs_one():
    model = bert(pooled=False)
    assert not any("pooler" in name for name in model.state_dict())
    assert torch.equal(model(IDS), bert()(IDS))
    words = r"pooled \(False\) must be True: this needs the pooled vector"
    for wrong in (lambda: model.pool(model(IDS)), lambda: Pretraining(model), lambda: Classifier(model, 2)):
        with pytest.raises(ValueError, match=words):
            wrong()


def test_words_are_asked_for_at_every_place():
    model = randomised(MaskedLM(Bert(CONFIG, pooled=False))).eval()
    expected = model.word_head(model.bert(IDS, SEGMENTS), model.bert.tokens.weight)
    assert model(IDS, SEGMENTS).shape == (3, 9, 30)
    assert torch.equal(model(IDS, SEGMENTS), expected)
    assert not torch.allclose(model(IDS), expected, atol=1e-3)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_a_vector_of_a_text_is_that_of_its_own_tokens(pooling, normalised):
    model = randomised(SentenceBert(Bert(CONFIG), pooling, normalised)).eval()
    for ids in (IDS, IDS.flip(1)):
        rows = []
        for row in ids:
            x = model.bert(row[None, row != 0])[0]
            x = {"mean": x.mean(0), "cls": x[0], "max": x.max(0).values}[pooling]
            rows.append(x / x.norm() if normalised else x)
        assert torch.allclose(model(ids), torch.stack(rows), rtol=0, atol=1e-12)
    assert not torch.allclose(model(IDS, SEGMENTS), model(IDS), atol=1e-3)


def test_a_text_is_as_long_as_it_is_told_or_as_there_are_positions():
    assert SentenceBert(Bert(CONFIG)).max_tokens == 12
    assert SentenceBert(Bert(CONFIG, first_position=2)).max_tokens == 10
    assert SentenceBert(Bert(CONFIG), max_tokens=3).max_tokens == 3
    assert SentenceBert(Bert(CONFIG)).normalised
    assert SentenceBert(Bert(CONFIG)).pooling == "mean"


def test_pooling_that_cannot_be_is_refused():
    with unchecked():
        for wrong in (0, 11, -1):
            with pytest.raises(ValueError, match=rf"max_tokens \({wrong}\) must be at least 1 and at most 10, the pos"):
                SentenceBert(Bert(CONFIG, first_position=2), max_tokens=wrong)
        with pytest.raises(TypeError, match=r"max_tokens \(2\.0\) must be a whole number"):
            SentenceBert(Bert(CONFIG), max_tokens=2.0)
        with pytest.raises(ValueError, match=r"pooling \('sum'\) must be one of mean, cls, max"):
            SentenceBert(Bert(CONFIG), "sum")
        with pytest.raises(TypeError, match=r"normalised must be a builtins\.bool, not int"):
            SentenceBert(Bert(CONFIG), normalised=1)
        with pytest.raises(TypeError, match=r"pooled must be a builtins\.bool, not int"):
            Bert(CONFIG, pooled=1)


def test_dropout_stands_behind_the_embeddings_and_in_the_layers():
    model = randomised(Bert(CONFIG.replace(dropout=0.5)))
    assert not torch.equal(model.embed(IDS), model.embed(IDS))
    model.dropout.p = 0.0
    assert torch.equal(model.embed(IDS), model.embed(IDS))
    assert not torch.equal(model(IDS), model(IDS))
    model.eval()
    assert torch.equal(model(IDS), model(IDS))


@pytest.mark.parametrize("activation", [F.gelu, F.relu])
def test_the_word_head_is_a_layer_its_activation_norm_and_the_rows_of_the_table(activation):
    head = randomised(WordHead(CONFIG.replace(activation=activation.__name__)))
    table, x = (torch.randn(n, 8, dtype=torch.float64) for n in (30, 4))
    h = activation(x @ head.linear.weight.T + head.linear.bias)
    expected = F.layer_norm(h, (8,), head.norm.weight, head.norm.bias, 1e-12) @ table.T + head.bias
    assert torch.allclose(head(x, table), expected, rtol=0, atol=1e-12)


def test_words_are_asked_for_at_the_chosen_places_in_order_and_nowhere_else():
    model = randomised(Pretraining(Bert(CONFIG))).eval()
    chosen = torch.zeros_like(IDS, dtype=torch.bool)
    chosen[0, 6] = chosen[0, 2] = chosen[1, 1] = True
    words, follows = model(IDS, chosen, SEGMENTS)
    x = model.bert(IDS, SEGMENTS)
    picked = torch.stack([x[0, 2], x[0, 6], x[1, 1]])
    assert torch.allclose(words, model.word_head(picked, model.bert.tokens.weight), rtol=0, atol=1e-12)
    assert torch.allclose(follows, model.next_head(model.bert.pool(x)), rtol=0, atol=1e-12)


def test_the_output_table_is_the_input_table():
    model = Pretraining(Bert(CONFIG))
    names = [name for name, p in model.named_parameters() if p.shape == (30, 8)]
    assert names == ["bert.tokens.weight"]
    model(IDS, IDS > 3)[0].sum().backward()
    assert model.bert.tokens.weight.grad.abs().sum() > 0


def test_the_first_loss_lies_a_half_above_guessing():
    torch.manual_seed(0)
    config = CONFIG.replace(vocab_size=1000, d_model=64, d_ff=128)
    ids = torch.randint(5, 1000, (64, 12))
    words, _ = Pretraining(Bert(config))(ids, torch.ones_like(ids, dtype=torch.bool))
    loss = F.cross_entropy(words, torch.randint(5, 1000, (64 * 12,))).item()
    assert abs(loss - (torch.tensor(1000.0).log().item() + 0.5)) < 0.15


def test_every_parameter_learns():
    model = randomised(Pretraining(Bert(CONFIG)))
    words, follows = model(IDS, IDS > 3, SEGMENTS)
    (words.square().sum() + follows.square().sum()).backward()
    for name, parameter in model.named_parameters():
        if not name.endswith("w_k.bias"):  # a key bias moves all scores of a row alike
            assert parameter.grad.abs().max() > 1e-8, name


def test_looking_up_gives_rows_as_they_are():
    table = torch.rand(5, 3)
    ids = torch.tensor([[4, 0]], dtype=torch.int32)
    assert torch.equal(look_up(lambda i: table[i.long()], ids, 5, "id", "rows")[0], table[[4, 0]])


@pytest.mark.parametrize("wrong", [30, -1])
def test_an_id_outside_the_table_is_named(wrong):
    with pytest.raises(IndexError, match=rf"id \({wrong}\) must be at least 0 and below vocab_size \(30\)"):
        bert()(torch.tensor([[5, wrong]]))


def test_bad_segments_are_refused():
    with pytest.raises(IndexError, match=r"segment \(2\) must be at least 0 and below n_segments \(2\)"):
        bert()(IDS, torch.full_like(IDS, 2))
    with unchecked(), pytest.raises(ValueError, match=r"segments must have the shape of ids: \(3, 8\) and \(3, 9\)"):
        bert()(IDS, SEGMENTS[:, :8])
    with unchecked(), pytest.raises(TypeError, match=r"segments must be int64 or int32, not torch\.bool"):
        bert()(IDS, SEGMENTS.bool())


def test_bad_ids_are_refused():
    with unchecked(), pytest.raises(TypeError, match=r"ids must be int64 or int32, not torch\.float32"):
        bert()(IDS.float())


@pytest.mark.parametrize("chosen", [(IDS > 3)[:, :8], (IDS > 3).long()], ids=["shape", "type"])
def test_bad_choices_are_refused(chosen):
    model = randomised(Pretraining(Bert(CONFIG)))
    with unchecked(), pytest.raises(ValueError, match="chosen must be bool of the shape of ids, not torch"):
        model(IDS, chosen)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match=r"n_segments \(0\) must be at least 1"):
        Bert(CONFIG, n_segments=0)
    for wrong in (-1, 12):
        with pytest.raises(ValueError, match=rf"first_position \({wrong}\) must be at least 0 and below max_len"):
            Bert(CONFIG, first_position=wrong)


def test_a_distilbert_has_no_segments_and_pools_with_relu():
    model = DistilBert(CONFIG).double().eval()
    assert not any("segments" in name for name, _ in model.named_parameters())
    by_hand = model.norm(model.tokens(IDS) + model.positions.table[: IDS.size(1)])
    padding = CONFIG.pad_id == IDS
    assert torch.allclose(model.embed(IDS)[~padding], by_hand[~padding], rtol=0, atol=1e-12)
    assert torch.equal(model.embed(IDS, torch.zeros_like(IDS)), model.embed(IDS))
    with pytest.raises(ValueError, match="segments must be None, or all 0: this model has none"):
        model.embed(IDS, torch.ones_like(IDS))
    ids = torch.tensor([[CONFIG.pad_id, CONFIG.pad_id, 5, 6], [5, 6, 7, 8]])
    x = model(ids)
    firsts = torch.stack([x[0, 2], x[1, 0]])
    assert torch.equal(model.pool(x, ids), model.pooler(firsts).clamp(min=0))
    assert torch.equal(model.pool(x), model.pooler(x[:, 0]).clamp(min=0))
    with pytest.raises(ValueError, match=r"pooled \(False\) must be True"):
        DistilBert(CONFIG, pooled=False).pool(x.float())
    for numbers in ((1, 0), (0, 2)):
        with pytest.raises(ValueError, match=rf"n_segments \({numbers[0]}\) and .* \({numbers[1]}\) must be 0"):
            DistilBert(CONFIG, *numbers)

"""What must hold for the whole model and what training hides: a model without it still learns something."""

import math
from unittest import mock

import pytest
import torch
from helpers import BOS, PAD, assert_near, gradients, normal, randomised, sentences
from torch import nn
from torch.nn import functional as F

from tested_transformer.byhand.transformer import transformer
from tested_transformer.config import TINY, Config
from tested_transformer.model.transformer import Transformer

CONFIG = Config(vocab_size=13, d_model=8, d_ff=12, n_heads=2, n_layers=2, dropout=0.0, max_len=16, attention_bias=True)
each_order = pytest.mark.parametrize("norm_first", [False, True], ids=["norm last", "norm first"])


def create(norm_first=False, **settings):
    return randomised(Transformer(CONFIG.replace(norm_first=norm_first, **settings)), seed=1)


def ids(*rows):
    return torch.tensor(rows)


SOURCE, TARGET = ids([4, 5, 6, 2, 7]), ids([BOS, 8, 9, 10])


def inputs_of(part, run):
    """What a part was called with while `run` ran, once for each call."""
    seen = []
    handle = part.register_forward_pre_hook(lambda _, args: seen.append(args))
    try:
        run()
    finally:
        handle.remove()
    return seen


def near(a, b):
    return torch.allclose(a, b, rtol=0, atol=1e-12)


# Nobody looks ahead


@each_order
def test_a_later_target_token_changes_nothing_before_it(norm_first):
    model = create(norm_first)
    logits = model(SOURCE, TARGET)
    for t in range(1, 4):
        changed = TARGET.clone()
        changed[0, t] = 11
        other = model(SOURCE, changed)
        assert near(other[:, :t], logits[:, :t])
        assert not near(other[:, t:], logits[:, t:])


@each_order
def test_logits_have_a_gradient_from_every_token_up_to_their_own_and_from_none_after(norm_first):
    model = create(norm_first)
    x = torch.tensor(normal(1, 4, 8), requires_grad=True)
    with mock.patch.object(model.positions, "forward", lambda rows, offset: x if rows.size(1) == 4 else rows):
        logits = model(SOURCE, TARGET)
    for t in range(4):
        (gradient,) = torch.autograd.grad(logits[0, t].square().sum(), x, retain_graph=True)
        reached = gradient[0].ne(0).any(dim=1)
        assert reached.tolist() == [place <= t for place in range(4)]


@each_order
def test_every_source_token_is_read_by_every_target_token_and_by_every_source_token(norm_first):
    model = create(norm_first)
    memory, logits = model.encode(SOURCE), model(SOURCE, TARGET)
    for s in range(5):
        changed = SOURCE.clone()
        changed[0, s] = 11
        for before, after in ((memory, model.encode(changed)), (logits, model(changed, TARGET))):
            assert (before - after).abs().amax(dim=2).gt(1e-6).all()


# Padding and company change nothing


@each_order
def test_padding_of_the_source_changes_no_logit(norm_first):
    model = create(norm_first)
    logits = model(SOURCE, TARGET)
    for more in (1, 4):
        assert near(model(F.pad(SOURCE, (0, more), value=PAD), TARGET), logits)


@each_order
def test_padding_of_the_target_changes_no_logit_of_the_words(norm_first):
    model = create(norm_first)
    assert near(model(SOURCE, F.pad(TARGET, (0, 3), value=PAD))[:, :4], model(SOURCE, TARGET))


def padded(row, *gaps):
    """The row with so many padding tokens before each of its places."""
    out = row.new_full((1, row.size(1) + sum(gaps)), PAD)
    places = torch.arange(row.size(1)) + torch.tensor([*gaps, *[0] * row.size(1)][: row.size(1)]).cumsum(0)
    out[0, places] = row[0]
    return out


@each_order
@pytest.mark.parametrize("gaps", [(2,), (0, 1), (0, 0, 3), (1, 2, 0, 1)], ids=["left", "hole", "wide", "anywhere"])
def test_wherever_padding_stands_words_have_the_positions_that_they_have_without_it(norm_first, gaps):
    model = create(norm_first)
    logits = model(SOURCE, TARGET)[0]
    source, target = padded(SOURCE, *gaps), padded(TARGET, *gaps)
    assert near(model(source, TARGET)[0], logits)
    assert near(model(SOURCE, target)[0][target[0] != PAD], logits)
    if not norm_first:
        params = {name: tensor.detach().numpy() for name, tensor in model.named_parameters()}
        by_hand, _ = transformer(source.numpy(), target.numpy(), params, CONFIG)
        assert near(torch.tensor(by_hand)[target != PAD], logits)
    memory = model.encode(source)[0][source[0] != PAD]
    assert near(memory, model.encode(SOURCE)[0])


@each_order
def test_the_row_of_the_padding_token_means_nothing(norm_first):
    model = create(norm_first)
    source, target = ids([4, PAD, 6, PAD]), ids([BOS, PAD, 9, 10])  # padding before words: the causal mask hides it not
    before = model(source, target)
    with torch.no_grad():
        model.embedding.weight[PAD] += 1
    after = model(source, target)
    words = target != PAD
    assert near(after[words][:, 1:], before[words][:, 1:])  # column PAD is the score of the row itself


@each_order
def test_a_sentence_is_translated_alike_alone_and_in_company(norm_first):
    model = create(norm_first)
    source, target = sentences(CONFIG, 4, 6, 5)
    together = model(source, target)
    for i in range(4):
        s, t = int((source[i] != PAD).sum()), int((target[i] != PAD).sum())
        assert near(model(source[i : i + 1, :s], target[i : i + 1, :t])[0], together[i, :t])


def test_padding_is_whatever_the_config_says():
    model, other = create(), create(pad_id=12)
    assert near(model(SOURCE, TARGET), other(SOURCE, TARGET))
    zeros, twelves = (F.pad(SOURCE, (0, 2), value=value) for value in (0, 12))
    assert near(other(twelves, TARGET), model(SOURCE, TARGET))
    assert not near(other(zeros, TARGET), model(SOURCE, TARGET))


def test_cross_attention_hides_the_padding_of_the_source_and_not_that_of_the_target():
    model = create()
    source, target = ids([4, 5, 6, PAD]), ids([BOS, 8, PAD, PAD])
    for layer in model.decoder.layers:
        masks = inputs_of(layer.cross_attention, lambda: model(source, target))[0][3]
        assert masks.flatten().tolist() == [True, True, True, False]


# Order


@each_order
def test_the_order_of_the_source_words_counts(norm_first):
    model = create(norm_first)
    assert not near(model(SOURCE, TARGET), model(SOURCE[:, [1, 0, 2, 3, 4]], TARGET))


def test_without_positions_the_order_of_the_source_words_would_not_count():
    model = create()
    model.positions.table.zero_()
    assert near(model(SOURCE, TARGET), model(SOURCE[:, [1, 0, 2, 3, 4]], TARGET))


def papers_positions(length, width):
    """The formulas of Section 3.5, written once more: sine and cosine of pos / 10000^(2i/d_model), from pos 0 on."""
    table = torch.zeros(length, width, dtype=torch.float64)
    for pos in range(length):
        for i in range(width // 2):
            angle = pos / 10000 ** (2 * i / width)
            table[pos, 2 * i], table[pos, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table


def test_into_both_stacks_go_the_rows_times_the_root_of_the_width_plus_the_positions():
    model = create()
    for stack, words in ((model.encoder, SOURCE), (model.decoder, TARGET)):
        (args,) = inputs_of(stack, lambda: model(SOURCE, TARGET))
        expected = model.embedding.weight[words] * 8**0.5 + papers_positions(words.size(1), 8)
        assert near(args[0], expected)


def test_dropout_comes_after_the_sum():
    model = create(dropout=0.5).train()
    torch.manual_seed(0)
    for stack, words in ((model.encoder, SOURCE), (model.decoder, TARGET)):
        (args,) = inputs_of(stack, lambda: model(SOURCE, TARGET))
        summed = model.embedding.weight[words] * 8**0.5 + papers_positions(words.size(1), 8)
        dropped = args[0] == 0  # of the sum, or no number would be zero
        assert 0.2 < dropped.double().mean() < 0.8
        assert near(args[0], torch.where(dropped, 0, summed / 0.5))


# One table


def test_logits_are_products_with_the_rows_of_the_same_table():
    model = create()
    x = model.decode(TARGET, model.encode(SOURCE), SOURCE)
    assert near(model(SOURCE, TARGET), x @ model.embedding.weight.T)
    assert sum(value.shape == (13, 8) for value in model.parameters()) == 1


def test_the_gradient_of_the_table_is_the_sum_of_those_of_its_three_uses():
    model = create()
    table = model.embedding.weight
    _, found = gradients(model, SOURCE, TARGET)
    d_logits = torch.tensor(normal(1, 4, 13))
    copies = [table.detach().clone().requires_grad_() for _ in range(3)]  # untied: one for each use
    x, y = (rows[words] * 8**0.5 for rows, words in zip(copies, (SOURCE, TARGET), strict=False))
    with mock.patch.object(model.embedding, "forward", lambda words: x if words is SOURCE else y):
        out = model.decode(TARGET, model.encode(SOURCE), SOURCE)
    (out @ copies[2].T).backward(d_logits)
    parts = [rows.grad for rows in copies]
    assert near(sum(parts), found["embedding.weight"])
    source_part, target_part, output_part = (set(part.ne(0).any(1).nonzero().flatten().tolist()) for part in parts)
    assert source_part == set(SOURCE.flatten().tolist())
    assert target_part == set(TARGET.flatten().tolist())
    assert output_part == set(range(13))  # every token got a score


# Layers of their own


def test_no_two_parameters_share_memory():
    places = [value.data_ptr() for value in create().parameters()]
    assert len(set(places)) == len(places)


def test_no_two_weights_begin_equal():
    torch.manual_seed(0)
    model = Transformer(TINY.replace(n_layers=3))
    weights = [(name, value) for name, value in model.named_parameters() if value.dim() == 2]
    for i, (name, value) in enumerate(weights):
        for other, twin in weights[:i]:
            assert value.shape != twin.shape or not torch.equal(value, twin), f"{name} begins as {other}"


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_every_layer_does_something_and_they_run_in_their_order(stack):
    model = create(n_layers=3)
    logits, layers, order = model(SOURCE, TARGET), getattr(model, stack).layers, []
    for layer in layers:
        layer.register_forward_pre_hook(lambda layer, _: order.append(layer))
    model(SOURCE, TARGET)
    assert order == list(layers)
    for left_out in layers:
        getattr(model, stack).layers = nn.ModuleList(layer for layer in layers if layer is not left_out)
        assert not near(model(SOURCE, TARGET), logits)


# Who asks and who answers


def test_in_cross_attention_the_target_asks_and_the_whole_memory_answers():
    model = create()
    memory = model.encode(SOURCE)
    for layer in model.decoder.layers:
        ((query, key, value, _),) = inputs_of(layer.cross_attention, lambda: model.decode(TARGET, memory, SOURCE))
        assert query.shape == (1, 4, 8)
        assert key is value is memory  # of the last encoder layer, for every decoder layer the same


def test_in_self_attention_all_three_are_the_same_sentence():
    model = create(norm_first=True)
    for stack, length in ((model.encoder, 5), (model.decoder, 4)):
        for layer in stack.layers:
            ((query, key, value, _),) = inputs_of(layer.self_attention, lambda: model(SOURCE, TARGET))
            assert query is key is value
            assert query.shape == (1, length, 8)


def test_without_the_source_the_logits_would_be_others_and_without_the_target_too():
    model = create()
    memory = model.encode(SOURCE)
    out = model.decode(TARGET, memory, SOURCE)
    assert not near(model.decode(TARGET, memory * 0, SOURCE), out)
    assert not near(model.decode(ids([BOS, 11, 11, 11]), memory, SOURCE)[:, 1:], out[:, 1:])


# Everything learns


@each_order
def test_a_gradient_reaches_every_parameter_but_the_biases_of_keys(norm_first):
    """The same amount on all scores of a query changes no share of the softmax, so what a key bias adds is lost."""
    model = create(norm_first, final_norm=True)
    _, found = gradients(model, *sentences(CONFIG))
    for name, gradient in found.items():
        if name.endswith("w_k.bias"):
            assert gradient.abs().max() < 1e-12, name
        else:
            assert gradient.ne(0).double().mean() > 0.5, name
            assert gradient.abs().max() > 1e-6, name


def test_every_row_of_the_table_learns_at_the_output_even_if_its_token_was_never_read():
    model = create()
    _, found = gradients(model, SOURCE, TARGET)
    assert found["embedding.weight"].ne(0).all()


# Dropout


def test_in_use_nothing_is_random_and_in_training_it_is():
    model = create(dropout=0.3)
    assert model.training
    assert not near(model(SOURCE, TARGET), model(SOURCE, TARGET))
    model.eval()
    assert torch.equal(model(SOURCE, TARGET), model(SOURCE, TARGET))
    assert torch.equal(model(SOURCE, TARGET), create(dropout=0.0)(SOURCE, TARGET))


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "explicit"])
@each_order
def test_dropout_stands_where_the_paper_has_it_and_nowhere_else(norm_first, fused):
    """On the two sums of embeddings and positions, and on the output of each sub-layer: 2 + 2N + 3N (Section 5.4)."""
    n = 3
    model = create(norm_first, n_layers=n, dropout=0.25, fused=fused).train()
    shapes = []
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.register_forward_hook(lambda part, args, _: shapes.append((part.p, args[0].shape[1])))
    kernel = F.scaled_dot_product_attention
    with (
        mock.patch.object(F, "dropout", wraps=F.dropout) as dropped,
        mock.patch.object(F, "scaled_dot_product_attention", wraps=kernel) as attended,
    ):
        model(SOURCE, TARGET)
    assert shapes.count((0.25, 5)) == 1 + 2 * n  # the source is five tokens long
    assert shapes.count((0.25, 4)) == 1 + 3 * n  # the target four
    assert len(shapes) == 2 + 2 * n + 3 * n
    assert sum(call.args[1] > 0 for call in dropped.call_args_list) == len(shapes)  # none that is no module
    assert all(call.args[4] == 0 for call in attended.call_args_list)
    assert attended.call_count == (3 * n if fused else 0)


@each_order
def test_dropout_falls_on_the_output_of_the_sub_layer_and_not_on_the_residual_path(norm_first):
    frame = create(norm_first, dropout=0.5, n_layers=1).train().encoder.layers[0].addnorm_2
    seen = {}
    frame.dropout.register_forward_hook(lambda _, args, out: seen.update(before=args[0], after=out))
    frame.norm.register_forward_pre_hook(lambda _, args: seen.update(normed=args[0]))
    x = torch.tensor(normal(1, 5, 8))
    y = frame(x, lambda x: 2 * x)
    assert not torch.equal(seen["before"], seen["after"])
    assert torch.equal(y if norm_first else seen["normed"], x + seen["after"])


# The start


@pytest.mark.parametrize("n_layers", [1, 3])
def test_logits_begin_with_a_spread_of_one_and_the_loss_near_that_of_guessing(n_layers):
    """The mean of e^z is e^(1/2) for a normal z of spread 1, so the loss begins at ln V + 1/2, and what a bet costs.

    The bet: the token that was read is still to be seen, and is compared with its own row of the table.
    """
    torch.manual_seed(0)
    config = Config(vocab_size=1000, d_model=64, d_ff=128, n_heads=4, n_layers=n_layers, dropout=0.0)
    source, target, labels = torch.randint(4, 1000, (3, 16, 12))
    with torch.no_grad():
        logits = Transformer(config)(source, target)
    assert 0.9 < logits.std() < 1.1
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
    repeated = logits.softmax(-1).gather(-1, target.unsqueeze(-1))
    assert 0.1 < repeated.mean() < 0.6
    assert abs(loss - math.log(1000) - 0.5 + (1 - repeated).log().mean()) < 0.15


def test_what_leaves_the_decoder_has_a_typical_size_of_one():
    torch.manual_seed(0)
    model = Transformer(Config(vocab_size=50, d_model=64, d_ff=128, n_heads=4, n_layers=2, dropout=0.0))
    x = model.decode(TARGET, model.encode(SOURCE), SOURCE)
    assert_near(x.detach().square().mean(-1).sqrt(), torch.ones(1, 4), 1e-3)

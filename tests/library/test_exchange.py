"""Weights to and from PyTorch's own modules; and with the same weights the same outputs and the same gradients."""

import copy
from unittest import mock

import pytest
import torch
from helpers import assert_near, assert_same_gradients, normal, ragged, randomised, unchecked
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from tested_transformer.config import TINY, Config
from tested_transformer.exchange import from_torch, to_torch
from tested_transformer.model.addnorm import LayerNorm
from tested_transformer.model.decoder import Decoder, DecoderLayer
from tested_transformer.model.encoder import Encoder, EncoderLayer
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.masks import causal_mask, padding_mask
from tested_transformer.model.transformer import Transformer

DOUBLE, SINGLE = 1e-10, 1e-5  # how near, of the largest entry, in float64 and in float32
seeds = st.integers(0, 1000)


@st.composite
def configs(draw):
    """Any small model that both sides can be."""
    n_heads, width = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    width = max(width, 6 // n_heads)  # a norm over very few numbers has hardly a gradient
    return Config(
        vocab_size=11,
        d_model=n_heads * width,
        n_heads=n_heads,
        d_ff=draw(st.integers(2, 6)),
        n_layers=draw(st.integers(1, 2)),
        dropout=0.0,
        max_len=8,
        activation=draw(st.sampled_from(["relu", "gelu"])),
        norm_eps=draw(st.sampled_from([1e-5, 1e-2, 0.1])),
        **{name: draw(st.booleans()) for name in ("attention_bias", "norm_first", "final_norm", "fused")},
    )


KINDS = {
    "attention": lambda c: MultiHeadAttention(c.d_model, c.n_heads, bias=c.attention_bias),
    "norm": lambda c: LayerNorm(c.d_model, c.norm_eps),
    "encoder layer": EncoderLayer,
    "decoder layer": DecoderLayer,
    "encoder": Encoder,
    "decoder": Decoder,
    "whole": Transformer,
}
PYTORCHS = dict(
    zip(
        KINDS,
        (
            nn.MultiheadAttention,
            nn.LayerNorm,
            nn.TransformerEncoderLayer,
            nn.TransformerDecoderLayer,
            nn.TransformerEncoder,
            nn.TransformerDecoder,
            nn.Transformer,
        ),
        strict=True,
    )
)
each_kind = pytest.mark.parametrize("kind", KINDS)


def needed(module):
    """What from_torch has to be told about a module of theirs."""
    return {"vocab_size": 11, "max_len": 8} if isinstance(module, nn.Transformer) else {}


def sentences(config, seed):
    """Ragged ids of three sources and three targets, and for each token a vector: B, S, T = 3, 5, 4."""
    ids = ragged(3, 5, config.vocab_size, seed), ragged(3, 4, config.vocab_size, seed + 1)
    vectors = normal(3, 5, config.d_model, seed=seed), normal(3, 4, config.d_model, seed=seed)
    return tuple(torch.tensor(array) for array in (*ids, *vectors))


def run_ours(ours, source, target, x, y):
    """Ours on vectors x of the source and y of the target, under the masks of their ids."""
    see, back = padding_mask(source, 0), causal_mask(target.size(1)) & padding_mask(target, 0)
    match ours:
        case MultiHeadAttention():
            return ours(y, x, x, see)[0]
        case LayerNorm():
            return ours(x)
        case EncoderLayer() | Encoder():
            return ours(x, see)
        case DecoderLayer() | Decoder():
            return ours(y, x, back, see)
        case Transformer():
            return ours.decoder(y, ours.encoder(x, see), back, see)


def run_theirs(theirs, source, target, x, y):
    """The same for theirs, whose masks say True where nobody may look."""
    hidden, hidden_target, future = source == 0, target == 0, ~causal_mask(target.size(1))
    masks = {"tgt_mask": future, "tgt_key_padding_mask": hidden_target, "memory_key_padding_mask": hidden}
    match theirs:
        case nn.MultiheadAttention():
            return theirs(y, x, x, key_padding_mask=hidden, need_weights=False)[0]
        case nn.LayerNorm():
            return theirs(x)
        case nn.TransformerEncoderLayer() | nn.TransformerEncoder():
            return theirs(x, src_key_padding_mask=hidden)
        case nn.TransformerDecoderLayer() | nn.TransformerDecoder():
            return theirs(y, x, **masks)
        case nn.Transformer():
            return theirs(x, y, src_key_padding_mask=hidden, **masks)


def gradients_of_theirs(theirs, wanted):
    """Their gradients under our names: handed over as if they were weights."""
    carrier = copy.deepcopy(theirs)
    for parameter, own in zip(carrier.parameters(), theirs.parameters(), strict=True):
        parameter.data = own.grad
    renamed = from_torch(carrier, **needed(theirs)).state_dict()
    return {name: renamed[name] for name in wanted}


def assert_parity(ours, theirs, config, seed, near):
    """The same output, the same gradient of each input and of every parameter: whole tensors."""
    dtype = next(ours.parameters()).dtype
    *ids, x, y = sentences(config, seed)
    results = []
    for module, run in ((ours, run_ours), (theirs, run_theirs)):
        inputs = [v.to(dtype).clone().requires_grad_() for v in (x, y)]
        out = run(module, *ids, *inputs)
        out.backward(torch.tensor(normal(*out.shape, seed=seed + 3)).to(dtype))
        results.append([out, *(v.grad for v in inputs if v.grad is not None)])
    for mine, other in zip(*results, strict=True):
        assert_near(mine, other.detach(), near)
    found = {name: p.grad for name, p in ours.named_parameters() if name != "embedding.weight"}
    assert_same_gradients(found, gradients_of_theirs(theirs, found), near)


# Parity


@each_kind
@given(configs(), seeds)
@settings(max_examples=8)
def test_with_the_same_weights_outputs_and_gradients_are_theirs(kind, config, seed):
    ours = randomised(KINDS[kind](config), seed)
    assert_parity(ours, to_torch(ours), config, seed, DOUBLE)


@each_kind
@given(configs(), seeds)
@settings(max_examples=2)
def test_what_began_as_theirs_computes_the_same_as_ours(kind, config, seed):
    theirs = randomised(to_torch(KINDS[kind](config)), seed)
    assert_parity(from_torch(theirs, **needed(theirs)), theirs, config, seed, DOUBLE)


@pytest.mark.parametrize("norm_first", [False, True], ids=["norm last", "norm first"])
@each_kind
def test_in_single_precision_they_agree_as_far_as_it_goes(kind, norm_first):
    config = TINY.replace(vocab_size=11, norm_first=norm_first, attention_bias=True)
    ours = randomised(KINDS[kind](config), seed=1).float()
    assert_parity(ours, to_torch(ours), config, 1, SINGLE)


@given(configs(), seeds)
@settings(max_examples=8)
def test_their_fast_path_gives_the_same(config, seed):
    ours = randomised(Encoder(config), seed).eval()
    source, _, x, _ = sentences(config, seed)
    fast = torch._transformer_encoder_layer_fwd
    with torch.no_grad(), mock.patch.object(torch, "_transformer_encoder_layer_fwd", wraps=fast) as taken:
        theirs = to_torch(ours)(x, src_key_padding_mask=source == 0)
        mine = ours(x, padding_mask(source, 0))
    assert taken.called == (config.n_heads % 2 == 0)  # they have it for an even number of heads
    assert_near(mine[source != 0], theirs[source != 0], DOUBLE)


@each_kind
def test_in_eval_mode_both_drop_nothing_and_agree(kind):
    config = TINY.replace(vocab_size=11, dropout=0.3)
    ours = randomised(KINDS[kind](config), seed=2).eval()
    assert_parity(ours, to_torch(ours), config, 2, DOUBLE)


@given(configs(), seeds)
@settings(max_examples=10)
def test_under_any_mask_attention_and_its_weights_are_theirs(config, seed):
    ours = randomised(KINDS["attention"](config), seed)
    theirs, (_, _, x, y) = to_torch(ours), sentences(config, seed)
    mask = torch.tensor(normal(3, config.n_heads, 4, 5, seed=seed) > 0)
    mask[..., seed % 5] = True  # theirs gives NaN where nothing is to be seen
    out, weights = ours(y, x, x, mask, need_weights=True)
    other, other_weights = theirs(y, x, x, attn_mask=~mask.flatten(0, 1), average_attn_weights=False)
    assert_near(out, other.detach(), DOUBLE)
    assert_near(weights, other_weights.detach(), DOUBLE)


def test_a_sentence_of_nothing_but_padding_is_the_same_on_both_sides():
    ours = randomised(Transformer(TINY), seed=3)
    source, target, x, y = sentences(TINY, 3)
    source[1] = 0
    mine, theirs = run_ours(ours, source, target, x, y), run_theirs(to_torch(ours), source, target, x, y)
    assert_near(mine, theirs.detach(), DOUBLE)


def test_asked_for_weights_theirs_is_not_a_number_where_nothing_is_to_be_seen_and_ours_agrees_elsewhere():
    ours = randomised(MultiHeadAttention(6, 2, bias=True))
    x, hidden = torch.tensor(normal(2, 4, 6)), torch.tensor([[True] * 4, [False, False, True, True]])
    out, weights = ours(x, x, x, ~hidden[:, None, None], need_weights=True)
    other, other_weights = to_torch(ours)(x, x, x, key_padding_mask=hidden, average_attn_weights=False)
    assert other[0].isnan().all()
    assert weights[0].eq(0).all()
    assert torch.equal(out[0], ours.w_o.bias.expand(4, 6))
    assert_near(out[1], other[1].detach(), DOUBLE)
    assert_near(weights[1], other_weights[1].detach(), DOUBLE)


def test_theirs_may_have_the_length_first():
    theirs = randomised(nn.TransformerEncoderLayer(6, 2, 5, dropout=0.0), seed=4)
    x = torch.tensor(normal(3, 4, 6))
    ours = from_torch(theirs, batch_first=True)
    assert_near(ours(x), theirs(x.transpose(0, 1)).transpose(0, 1).detach(), DOUBLE)


@each_kind
def test_a_module_with_the_length_first_is_taken_only_by_who_knows(kind):
    theirs = to_torch(randomised(KINDS[kind](TINY)))
    right = from_torch(theirs, **needed(theirs)).state_dict()
    for m in theirs.modules():
        if hasattr(m, "batch_first"):
            m.batch_first = False
    if kind != "norm":  # which reads any layout
        words = r"batch_first \(False\) would be lost: .* \(batch, length, width\), .* give batch_first=True"
        with pytest.raises(ValueError, match=words):
            from_torch(theirs, **needed(theirs))
    same = from_torch(theirs, batch_first=True, **needed(theirs)).state_dict()
    assert all(torch.equal(same[name], right[name]) for name in right if name != "embedding.weight")


# What is handed over


@each_kind
def test_each_kind_becomes_its_counterpart_and_comes_back_with_the_same_weights(kind):
    config = TINY.replace(vocab_size=11, attention_bias=True, dropout=0.2)
    ours = randomised(KINDS[kind](config), seed=5)
    theirs = to_torch(ours)
    back = from_torch(theirs, **needed(theirs))
    assert type(theirs) is PYTORCHS[kind]
    assert type(back) is type(ours)
    assert str(back) == str(ours)
    for (name, value), (other, copied) in zip(ours.state_dict().items(), back.state_dict().items(), strict=True):
        assert name == other
        assert torch.equal(value, copied) or name == "embedding.weight"


@each_kind
def test_weights_are_copied_not_shared(kind):
    ours = randomised(KINDS[kind](TINY.replace(attention_bias=True)))
    theirs = to_torch(ours)
    back = from_torch(theirs, **needed(theirs))
    for module in (theirs, back):
        for value in module.parameters():
            value.data.zero_()
    assert all(value.ne(0).any() for value in ours.parameters())


@each_kind
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_precision_and_mode_are_kept_on_both_ways(kind, dtype, training):
    theirs = to_torch(KINDS[kind](TINY).to(dtype).train(training))
    ours = from_torch(theirs, **needed(theirs))
    for module in (theirs, ours):
        assert {value.dtype for value in [*module.parameters(), *module.buffers()]} == {dtype}
        assert all(part.training == training for part in module.modules())


@each_kind
def test_the_device_is_kept_on_both_ways(kind):
    with torch.device("meta"):
        ours = KINDS[kind](TINY)
    theirs = to_torch(ours)
    assert {value.device.type for value in theirs.parameters()} == {"meta"}
    assert {value.device.type for value in from_torch(theirs, **needed(theirs)).parameters()} == {"meta"}


def frozen(module):
    """The names of what does not learn."""
    return {name for name, w in module.named_parameters(remove_duplicate=False) if not w.requires_grad}


@each_kind
def test_what_is_frozen_stays_frozen_on_both_ways_and_what_is_not_learns(kind):
    ours = KINDS[kind](TINY.replace(vocab_size=11, attention_bias=True))
    theirs = to_torch(ours)
    assert frozen(theirs) == frozen(from_torch(theirs, **needed(theirs))) == set()
    with torch.no_grad():  # which makes no difference
        theirs = to_torch(ours.requires_grad_(False))
        back = from_torch(theirs, **needed(theirs))
    assert frozen(theirs) == {name for name, _ in theirs.named_parameters()}
    assert frozen(back) == frozen(ours) - {"embedding.weight"}  # a new one


@given(configs(), st.integers(0, 10**6))
@settings(max_examples=10)
def test_each_array_is_frozen_by_itself(config, seed):
    theirs = to_torch(Transformer(config))
    for i, w in enumerate(theirs.parameters()):
        w.requires_grad_(bool((seed >> i % 20) & 1))
    ours = from_torch(theirs, vocab_size=11, max_len=8)
    assert len(frozen(ours)) == sum(1 + 2 * ("in_proj" in name) for name in frozen(theirs))
    assert frozen(to_torch(ours)) == frozen(theirs)


def test_in_proj_is_three_of_ours_which_are_frozen_with_it():
    theirs = to_torch(EncoderLayer(TINY.replace(attention_bias=True)))
    theirs.self_attn.in_proj_weight.requires_grad_(False)
    assert frozen(from_torch(theirs)) == {f"self_attention.w_{x}.weight" for x in "qkv"}


def test_an_array_that_theirs_has_in_two_places_is_frozen_in_both():
    theirs = to_torch(Encoder(TINY))
    first, second = theirs.layers
    second.linear1.weight = first.linear1.weight
    first.linear1.weight.requires_grad_(False)
    assert frozen(from_torch(theirs)) == {f"layers.{i}.feed_forward.w_1.weight" for i in (0, 1)}


def test_biases_of_zero_that_ours_lacks_are_frozen_with_their_weights():
    ours = EncoderLayer(TINY)
    ours.self_attention.requires_grad_(False)
    assert frozen(to_torch(ours)) == {
        f"self_attn.{name}" for name in ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    }


@pytest.mark.parametrize("what", ["weight", "bias"])
@pytest.mark.parametrize("one", "qkv")
def test_one_of_queries_keys_and_values_frozen_alone_is_refused(one, what):
    ours = EncoderLayer(TINY.replace(attention_bias=True))
    getattr(getattr(ours.self_attention, f"w_{one}"), what).requires_grad_(False)
    names = ", ".join(rf"self_attention\.w_{x}\.{what}" for x in "qkv")
    with pytest.raises(ValueError, match=rf"{names} must be frozen all or none: .* self_attn\.in_proj_{what}"):
        to_torch(ours)


@each_kind
@pytest.mark.parametrize("fused", [True, False])
def test_the_way_of_calculating_reaches_every_part(kind, fused):
    ours = from_torch(to_torch(KINDS[kind](TINY)), **{"vocab_size": 11} if kind == "whole" else {}, fused=fused)
    found = {m.fused for m in ours.modules() if isinstance(m, (LayerNorm, MultiHeadAttention))}
    assert found == {fused}


@given(configs())
@settings(max_examples=10)
def test_all_settings_survive_there_and_back_but_theirs_always_has_biases(config):
    back = from_torch(to_torch(Transformer(config)), vocab_size=11, max_len=8)
    assert back.config == config.replace(attention_bias=True, fused=True)


def test_attention_without_biases_gets_biases_of_zero_where_theirs_must_have_them():
    theirs = to_torch(randomised(EncoderLayer(TINY)))
    assert theirs.self_attn.in_proj_bias.eq(0).all()
    assert theirs.self_attn.out_proj.bias.eq(0).all()
    assert to_torch(MultiHeadAttention(4, 2)).in_proj_bias is None  # alone it can be without


@pytest.mark.parametrize("final_norm", [False, True])
def test_a_final_norm_is_there_where_ours_has_one(final_norm):
    theirs = to_torch(Transformer(TINY.replace(final_norm=final_norm)))
    for stack in (theirs.encoder, theirs.decoder):
        assert (stack.norm is not None) == final_norm


def test_their_own_default_comes_with_final_norms_and_biases():
    theirs = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    config = from_torch(theirs, vocab_size=30, pad_id=7, fused=False).config
    assert config.final_norm
    assert config.attention_bias
    assert (config.vocab_size, config.pad_id, config.fused) == (30, 7, False)
    assert (config.d_model, config.n_heads, config.d_ff, config.n_layers) == (8, 2, 16, 1)
    free = {"pad_id": 7, "bos_id": 4, "eos_id": 5, "unk_id": 6, "max_len": 9, "dropout": 0.5}
    given = from_torch(theirs, vocab_size=30, **free).config
    assert {name: getattr(given, name) for name in free} == free


def test_an_activation_is_known_however_it_is_written():
    x = torch.tensor(normal(2, 3, 8))
    for activation in (F.relu, torch.relu, nn.ReLU(), F.gelu, nn.GELU()):
        theirs = randomised(layer(activation=activation))
        assert_near(from_torch(theirs)(x), theirs(x).detach(), DOUBLE)


def test_a_fresh_table_is_drawn_as_always():
    theirs = nn.Transformer(64, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    assert 0.12 < from_torch(theirs, vocab_size=1000).embedding.weight.std() < 0.13


# Dropout: theirs has it inside the sub-layers too


def dropouts(theirs):
    """The probabilities of all dropouts in a layer: in attention, in the feed-forward network, on the outputs."""
    attention = [m.dropout for m in theirs.modules() if isinstance(m, nn.MultiheadAttention)]
    return attention, theirs.dropout.p, [getattr(theirs, n).p for n in theirs._modules if n[:-1] == "dropout"]


def test_ours_becomes_theirs_with_dropout_on_the_outputs_of_sub_layers_only():
    config = TINY.replace(dropout=0.25)
    assert dropouts(to_torch(EncoderLayer(config))) == ([0], 0, [0.25, 0.25])
    assert dropouts(to_torch(DecoderLayer(config))) == ([0, 0], 0, [0.25, 0.25, 0.25])
    for stack in (to_torch(Transformer(config)).encoder, to_torch(Transformer(config)).decoder):
        assert all(dropouts(layer)[:2] == ([0] * len(dropouts(layer)[0]), 0) for layer in stack.layers)


def test_with_the_same_random_numbers_both_drop_the_same():
    config = TINY.replace(vocab_size=11, dropout=0.3)
    ours = randomised(Transformer(config))
    one = [array[:1] for array in sentences(config, 6)]  # with several, theirs draws in another order of the axes
    results = []
    for module, run in ((ours, run_ours), (to_torch(ours), run_theirs)):
        torch.manual_seed(0)
        results.append(run(module, *one))
    assert_near(results[0], results[1].detach(), DOUBLE)
    assert not torch.allclose(run_ours(ours, *one), results[0])


LAYER = {"d_model": 8, "nhead": 2, "dim_feedforward": 8, "batch_first": True}


def test_dropout_inside_their_sub_layers_is_never_lost_without_a_word():
    layer = nn.TransformerEncoderLayer(**LAYER, dropout=0.1)
    for theirs in (layer, nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)):
        with pytest.raises(ValueError, match=r"dropout inside sub-layers \(0.1\) would be lost: give dropout"):
            from_torch(theirs)
        assert {m.p for m in from_torch(theirs, dropout=0.2).modules() if isinstance(m, nn.Dropout)} == {0.2}
    layer.dropout.p = 0.0  # only attention still drops out
    with pytest.raises(ValueError, match=r"dropout inside sub-layers \(0.1\)"):
        from_torch(layer)
    layer.self_attn.dropout = 0.0
    assert from_torch(layer).addnorm_1.dropout.p == 0.1
    layer.dropout.p = 0.05  # only the feed-forward network does
    with pytest.raises(ValueError, match=r"dropout inside sub-layers \(0.05\)"):
        from_torch(layer)


def test_what_is_given_need_not_be_the_same_everywhere():
    theirs = changed(layer(), dropout1__p=0.1, dropout2__p=0.2)
    assert {m.p for m in from_torch(theirs, dropout=0.3).modules() if isinstance(m, nn.Dropout)} == {0.3}


def test_attention_alone_keeps_its_dropout_on_both_ways():
    ours = from_torch(nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True))
    assert ours.dropout == 0.1
    assert to_torch(ours).dropout == 0.1
    assert from_torch(to_torch(ours), dropout=0.3).dropout == 0.3


def test_dropout_that_was_given_to_attention_inside_a_layer_of_ours_goes_along():
    ours = EncoderLayer(TINY)
    ours.self_attention.dropout = 0.4
    assert dropouts(to_torch(ours)) == ([0.4], 0, [0, 0])


# Refusals


def changed(module, **attributes):
    """A module with other attributes; `a__b` stands for the b of its a."""
    for path, value in attributes.items():
        *parts, name = path.split("__")
        setattr(module.get_submodule(".".join(parts)), name, value)
    return module


def layer(kind=nn.TransformerEncoderLayer, **settings):
    return kind(**LAYER | {"dropout": 0.0} | settings)


def stack(*layers):
    return changed(nn.TransformerEncoder(layers[0], 1, enable_nested_tensor=False), layers=nn.ModuleList(layers))


def whole(encoder_layers=1, decoder_layers=1, **settings):
    sizes = {"num_encoder_layers": encoder_layers, "num_decoder_layers": decoder_layers, "dropout": 0.0}
    return nn.Transformer(8, 2, dim_feedforward=8, batch_first=True, **sizes | settings)


SAME = r"must be the same everywhere: "
THEIRS_REFUSED = {
    "narrow keys": (lambda: nn.MultiheadAttention(8, 2, kdim=4), r"kdim \(4\) and vdim \(8\) must both be embed_dim"),
    "wide values": (lambda: nn.MultiheadAttention(8, 2, vdim=9), r"kdim \(8\) and vdim \(9\) must both be embed_dim"),
    "learned key": (lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True), r"add_bias_kv \(True\) must be False"),
    "zero key": (lambda: nn.MultiheadAttention(8, 2, add_zero_attn=True), r"add_zero_attn \(True\) must be False"),
    "a norm over two axes": (lambda: nn.LayerNorm((4, 8)), r"LayerNorm\(\(4, 8\).* must have a weight, a bias and one"),
    "a norm that learns nothing": (
        lambda: nn.LayerNorm(8, elementwise_affine=False),
        r"elementwise_affine=False.* must",
    ),
    "a norm without bias": (lambda: nn.LayerNorm(8, bias=False), r"must have a weight, a bias and one axis"),
    "a layer without biases": (lambda: layer(bias=False), r"bias \(False\) must be True"),
    "another activation": (
        lambda: layer(activation=F.silu),
        r"activation \(<function silu.*\) must be ReLU or the exact",
    ),
    "the approximate GELU": (
        lambda: layer(activation=nn.GELU(approximate="tanh")),
        r"activation \(GELU\(approximate='tanh'\)\) must be ReLU or the exact GELU",
    ),
    "two dropouts": (lambda: changed(layer(), dropout1__p=0.1, dropout2__p=0.2), rf"dropout {SAME}0.1 and 0.2"),
    "two epsilons": (lambda: changed(layer(), norm2__eps=0.1), rf"norm_eps {SAME}1e-05 and 0.1"),
    "two widths": (lambda: stack(layer(), layer(dim_feedforward=9)), rf"d_ff {SAME}8 and 9"),
    "two orders": (lambda: stack(layer(), layer(norm_first=True)), rf"norm_first {SAME}False and True"),
    "two numbers of heads": (lambda: stack(layer(), layer(nhead=4)), rf"n_heads {SAME}2 and 4"),
    "two activations": (lambda: stack(layer(), layer(activation="gelu")), rf"activation {SAME}relu and gelu"),
    "two depths": (lambda: whole(1, 2), rf"n_layers {SAME}1 and 2"),
    "two layouts": (lambda: changed(whole(), encoder__layers__0__self_attn__batch_first=False), rf"batch_first {SAME}"),
    "one final norm": (lambda: changed(whole(), decoder__norm=None), rf"final_norm {SAME}True and False"),
    "another norm at the end": (
        lambda: changed(stack(layer()), norm=nn.RMSNorm(8)),
        r"norm \(RMSNorm\) has no counterpart in ours",
    ),
    "a foreign part": (lambda: changed(layer(), linear1=nn.Bilinear(8, 8, 8)), r"linear1 \(Bilinear\) has no counter"),
    "no heads": (lambda: changed(layer(), self_attn__num_heads=0), r"n_heads \(0\) must be at least 1"),
}


@pytest.mark.parametrize("case", THEIRS_REFUSED)
def test_of_theirs_is_refused_what_ours_cannot_be(case):
    make, words = THEIRS_REFUSED[case]
    theirs = make()
    with pytest.raises(ValueError, match=words):
        from_torch(theirs, **needed(theirs))


OURS_REFUSED = {
    "wide queries": (lambda: EncoderLayer(TINY.replace(d_k=9)), r"n_heads times d_k \(18\) must be d_model \(16\)"),
    "narrow values": (lambda: EncoderLayer(TINY.replace(d_v=4)), r"n_heads times d_v \(8\) must be d_model \(16\)"),
    "another activation": (
        lambda: changed(EncoderLayer(TINY), feed_forward__activation=nn.SiLU()),
        r"activation \(SiLU\(\)\) must be ReLU or the exact GELU",
    ),
    "two dropouts": (
        lambda: changed(EncoderLayer(TINY), addnorm_2__dropout=nn.Dropout(0.5)),
        rf"dropout {SAME}0.0 and",
    ),
    "two widths": (
        lambda: changed(Encoder(TINY), layers__1__feed_forward=FeedForward(16, 5)),
        rf"d_ff {SAME}32 and 5",
    ),
    "two depths": (lambda: changed(Transformer(TINY), encoder__layers=nn.ModuleList()), rf"n_layers {SAME}0 and 2"),
    "another norm at the end": (
        lambda: changed(Encoder(TINY), norm=nn.RMSNorm(16)),
        r"norm \(RMSNorm\) has no counterpart in theirs",
    ),
    "another norm in a layer": (
        lambda: changed(DecoderLayer(TINY), addnorm_3__norm=nn.LayerNorm(16)),
        r"addnorm_3.norm \(LayerNorm\) has no counterpart in theirs",
    ),
    "one final norm": (lambda: changed(Transformer(TINY), decoder__norm=LayerNorm(16)), rf"final_norm {SAME}False and"),
}


@pytest.mark.parametrize("case", OURS_REFUSED)
def test_of_ours_is_refused_what_theirs_cannot_be(case):
    make, words = OURS_REFUSED[case]
    with pytest.raises(ValueError, match=words):
        to_torch(make())


def test_other_modules_and_heirs_are_refused_by_name():
    heir = type("Mine", (nn.TransformerEncoderLayer,), {})
    with pytest.raises(TypeError, match=r"Mine has no counterpart; these have: MultiheadAttention, LayerNorm"):
        from_torch(heir(8, 2))
    with pytest.raises(TypeError, match=r"FeedForward has no counterpart; these have: MultiHeadAttention, LayerNorm"):
        to_torch(FeedForward(4, 8))
    with unchecked(), pytest.raises(TypeError, match=r"dict has no counterpart"):
        from_torch({})


def test_settings_that_theirs_has_decided_are_refused():
    with pytest.raises(TypeError, match=r"d_model is not free here; these are: dropout, fused$"):
        from_torch(layer(), d_model=9)
    with pytest.raises(TypeError, match=r"vocab_size is not free here"):
        from_torch(layer(), vocab_size=9)
    with pytest.raises(TypeError, match=r"n_heads is not free here; these are: bos_id, dropout, .* vocab_size$"):
        from_torch(whole(), vocab_size=9, n_heads=4)
    with pytest.raises(ValueError, match=r"vocab_size must be given: nn.Transformer has no embedding"):
        from_torch(whole())
    with pytest.raises(ValueError, match=r"vocab_size \(0\) must be at least 1"):
        from_torch(whole(), vocab_size=0)

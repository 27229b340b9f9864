"""Today's parts: by hand, their laws, their gradients, and Hugging Face's Llama."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from helpers import arrays, assert_gradients, normal, randomised, unchecked
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right

from tested_transformer.byhand import llama as byhand
from tested_transformer.config import TINY, Config
from tested_transformer.decoding.cache import Cache, GptCache, KeysAndValues, reader, stepper
from tested_transformer.decoding.recompute import Uncached, passed_by
from tested_transformer.decoding.sampling import sample
from tested_transformer.model._causal import mask_tensor
from tested_transformer.model.attention import CAUSAL, attention, fused_attention, kernel
from tested_transformer.model.embedding import Embedding
from tested_transformer.model.feedforward import FeedForward
from tested_transformer.model.gpt import GPT, Gpt
from tested_transformer.model.heads import MultiHeadAttention
from tested_transformer.model.llama import (
    LLAMA,
    Llama,
    LlamaConfig,
    NoPositions,
    NormedAttention,
    RMSNorm,
    RotaryAttention,
    SwiGLU,
    UntiedEmbedding,
    rotate,
)
from tested_transformer.model.masks import causal_mask
from tested_transformer.model.parts import PAPER
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint

CONFIG = LlamaConfig(40, 32, 64, 4, 2, max_len=32, n_kv_heads=2)
SOURCE, TARGET = torch.tensor([[5, 6, 7, 8, 2], [9, 4, 2, 0, 0]]), torch.tensor([[1, 5, 6, 7], [1, 8, 9, 0]])
TEXT = torch.tensor([[1, 7, 8, 9, 5, 4, 11, 30], [1, 3, 3, 3, 19, 4, 6, 7]])


def llama(**changes):
    return randomised(Llama(CONFIG.replace(**changes))).eval()


def params(width=4, inner=6):
    return {"w_1.weight": normal(inner, width), "w_3.weight": normal(inner, width), "w_2.weight": normal(width, inner)}


# By hand


def test_a_row_of_three_and_four_has_the_root_mean_square_of_half_of_fifty():
    y = byhand.rms_norm(np.array([3.0, 4.0]), np.array([1.0, 2.0]), eps=0.0)
    assert np.allclose(y, [3 / 12.5**0.5, 8 / 12.5**0.5], rtol=0, atol=1e-15)


def test_a_pair_is_turned_by_one_radian_a_position_and_the_next_more_slowly():
    x = np.array([[1.0, 1.0, 0.0, 0.0]] * 3)  # pairs (0, 2) and (1, 3)
    y = byhand.rotate(x, base=100.0)
    for t in range(3):
        assert np.allclose(y[t], [np.cos(t), np.cos(t / 10), np.sin(t), np.sin(t / 10)], rtol=0, atol=1e-15)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_a_product_of_turned_rows_depends_on_their_distance_only(i, j, shift):
    q, k = normal(1, 8), normal(1, 8, seed=1)
    here, there = (byhand.rotate(q, a) @ byhand.rotate(k, b).T for a, b in ((i, j), (i + shift, j + shift)))
    assert np.allclose(here, there, rtol=0, atol=1e-12)
    assert np.isclose(np.linalg.norm(byhand.rotate(q, i)), np.linalg.norm(q))


def test_a_gate_far_below_zero_is_shut_and_one_far_above_lets_its_value_through():
    ones = {"w_1.weight": np.eye(1), "w_3.weight": np.ones((1, 1)), "w_2.weight": np.ones((1, 1))}
    y, _ = byhand.swiglu(np.array([[-50.0], [50.0]]), ones)
    assert np.allclose(y, [[0.0], [2500.0]], rtol=0, atol=1e-12)


def test_gradients_by_hand_agree_with_differences_and_with_pytorch():
    x, w, d_y, p = normal(2, 3, 4), normal(4), normal(2, 3, 4, seed=9), params()
    names = ("w_1.weight", "w_3.weight", "w_2.weight")

    def swiglu(x, *given):
        return (byhand.swiglu(x, dict(zip(names, given, strict=True)))[0] * d_y).sum()

    d_x, d_p = byhand.swiglu_backward(d_y, byhand.swiglu(x, p)[1])
    assert_gradients(swiglu, [x, *p.values()], [d_x, *(d_p[name] for name in names)])
    assert_gradients(lambda x, w: (byhand.rms_norm(x, w) * d_y).sum(), [x, w], [*byhand.rms_norm_backward(d_y, x, w)])
    assert_gradients(lambda x: (byhand.rotate(x, 3, 50.0) * d_y).sum(), [x], [byhand.rotate_backward(d_y, 3, 50.0)])
    ours = SwiGLU(4, 6).double()
    ours.load_state_dict({name: torch.tensor(w) for name, w in p.items()})
    given = torch.tensor(x, requires_grad=True)
    ours(given).backward(torch.tensor(d_y))
    assert np.allclose(given.grad, d_x, rtol=0, atol=1e-9)
    assert all(np.allclose(w.grad, d_p[name], rtol=0, atol=1e-9) for name, w in ours.named_parameters())


@given(arrays(3, 4, 8), st.integers(0, 20))
def test_in_pytorch_each_part_gives_what_it_gives_by_hand(x, offset):
    weight, given = normal(8), torch.tensor(x)
    norm = RMSNorm(8).double()
    norm.weight.data = torch.tensor(weight)
    assert np.allclose(norm(given).detach(), byhand.rms_norm(x, weight), rtol=0, atol=1e-12)
    turned = rotate(given[:, None], offset, 500.0)[:, 0]
    assert np.allclose(turned, byhand.rotate(x, offset, 500.0), rtol=0, atol=1e-12)


def test_a_row_of_an_odd_width_cannot_be_turned():
    with pytest.raises(ValueError, match=r"width of x \(3\) must be even"):
        byhand.rotate(normal(2, 3))
    with pytest.raises(ValueError, match=r"d_k \(3\) must be even"):
        RotaryAttention(12, 4)


# Causal attention without a mask


@pytest.mark.parametrize(("n", "n_keys"), [(5, 5), (1, 5), (3, 5)])
def test_causal_is_the_mask_that_it_stands_for(n, n_keys):
    q, k, v = (torch.tensor(normal(2, size, 4)) for size in (n, n_keys, n_keys))
    mask = causal_mask(n_keys)[-n:]
    for f in (lambda *x: attention(*x)[0], fused_attention):
        assert torch.allclose(f(q, k, v, CAUSAL), f(q, k, v, mask), rtol=0, atol=1e-12)
    bias = causal_lower_right(n, n_keys)
    assert torch.allclose(fused_attention(q, k, v, bias), fused_attention(q, k, v, mask), rtol=0, atol=1e-12)


def test_a_causal_mask_is_made_where_it_is_needed():
    assert mask_tensor(CAUSAL, 3, 5, torch.device("meta")).device.type == "meta"


def test_a_gpt_hands_no_mask_to_the_kernel(monkeypatch):
    kernel, masks = F.scaled_dot_product_attention, []

    def counted(q, k, v, mask=None, *rest, **named):
        masks.append(mask)
        return kernel(q, k, v, mask, *rest, **named)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    for model in (llama(), randomised(Gpt(TINY)).eval()):
        model(TEXT % 16)
        cache = GptCache(model)
        for end in (5, 6, 7):
            cache.read(TEXT[:1, :end] % 16)
        cache = GptCache(model)
        for end in (5, 6):
            cache.read(TEXT[:1, :end] % 16, torch.tensor([end]))
    assert masks == [None] * 2 * 6 * 2


@pytest.mark.parametrize("shape", [None, (1, 7), (2, 1, 1, 7), (2, 6, 1, 7), (1, 6, 1, 7)])
def test_one_query_in_each_head_of_a_group_reads_the_keys_of_the_group_once(shape, monkeypatch):
    q, k, v = (torch.tensor(normal(*size, seed=n)) for n, size in enumerate([(2, 6, 1, 4), (2, 2, 7, 4), (2, 2, 7, 3)]))
    mask = CAUSAL if shape is None else torch.tensor(normal(*shape) > -0.3)
    theirs, seen = F.scaled_dot_product_attention, []

    def counted(q, k, *rest, **named):
        seen.append((q.shape, k.shape, named.get("enable_gqa", False)))
        return theirs(q, k, *rest, **named)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    each = attention(q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1), mask)[0]
    assert torch.allclose(kernel(q, k, v, mask), each, rtol=0, atol=1e-12)
    side_by_side = (2, 2, 3, 4), (2, 2, 7, 4), False
    assert seen == [side_by_side if shape is None or len(shape) == 4 else (q.shape, k.shape, True)]


# The model


def test_its_heads_are_grouped_and_each_group_sees_its_own_keys():
    heads = randomised(RotaryAttention(32, 4, 2)).eval()
    x = torch.tensor(normal(2, 5, 32))
    out, weights = heads(x, x, x, CAUSAL, need_weights=True)
    assert heads.keys(x).shape == heads.values(x).shape == (2, 2, 5, 8)
    assert torch.allclose(out, heads(x, x, x, CAUSAL)[0], rtol=0, atol=1e-12)
    with torch.no_grad():
        heads.w_k.weight[8:] += 1  # the second head of keys, for the last two of queries
    changed = heads(x, x, x, CAUSAL, need_weights=True)[1]
    assert torch.equal(weights[:, :2], changed[:, :2])
    assert not torch.allclose(weights[:, 2:], changed[:, 2:])


NAMES = {"model.embed_tokens.": "tokens.", "model.layers.": "decoder.layers.", "model.norm.": "decoder.norm."}
NAMES |= {"self_attn.o_proj": "self_attention.w_o", "lm_head.": "tokens.output."}
NAMES |= {f"self_attn.{x}_proj": f"self_attention.w_{x}" for x in "qkv"}
NAMES |= {f"self_attn.{x}_norm": f"self_attention.norm_{x}" for x in "qk"}
NAMES |= {"mlp.gate_proj": "feed_forward.w_1", "mlp.up_proj": "feed_forward.w_3"}
NAMES |= {"mlp.down_proj": "feed_forward.w_2", "input_layernorm": "addnorm_1.norm"}
NAMES |= {"post_attention_layernorm": "addnorm_2.norm"}
SIZES = {"vocab_size": 40, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"rms_norm_eps": 1e-5, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}


def assert_the_same(ours, theirs, norm, monkeypatch):
    """Theirs rounds its angles and norms to float32, whatever the model is: here they are exact, too."""

    class Exact(nn.Module):
        def forward(self, x, position_ids):
            omega = 500.0 ** (-torch.arange(4, dtype=torch.float64) / 4)
            angles = (position_ids[..., None] * omega).repeat(1, 1, 2)
            return angles.cos(), angles.sin()

    theirs = randomised(theirs).double().eval()
    rounded = theirs(TEXT).logits
    monkeypatch.setattr(norm, "forward", lambda n, x: F.rms_norm(x, x.shape[-1:], n.weight, n.variance_epsilon))
    theirs.model.rotary_emb = Exact()
    state = theirs.state_dict()
    for a, b in NAMES.items():
        state = {key.replace(a, b): value for key, value in state.items()}
    if ours.config.tied:
        del state["tokens.output.weight"]
    ours.load_state_dict(state)
    assert (ours(TEXT) - theirs(TEXT).logits).abs().max() < 1e-10
    assert 1e-10 < (ours(TEXT) - rounded).abs().max() < 1e-4
    padded = F.pad(TEXT, (0, 3))
    assert torch.allclose(ours(padded)[:, : TEXT.size(1)], ours(TEXT), rtol=0, atol=1e-12)
    cache = GptCache(ours)
    steps = torch.cat([cache.read(TEXT[:, :end]) for end in range(1, TEXT.size(1) + 1)], 1)
    assert (steps - theirs(TEXT).logits).abs().max() < 1e-10


@pytest.mark.parametrize("last", [5, 1])
def test_grouped_heads_drop_weights_in_training_only(last):
    heads, x = randomised(RotaryAttention(32, 4, 2)), torch.tensor(normal(2, 5, 32))
    for need_weights in (False, True):
        heads.dropout = 0.0
        out = heads.train()(x[:, -last:], x, x, CAUSAL, need_weights)[0]
        heads.dropout = 0.5
        assert not torch.allclose(heads(x[:, -last:], x, x, CAUSAL, need_weights)[0], out)
        assert torch.allclose(heads.eval()(x[:, -last:], x, x, CAUSAL, need_weights)[0], out, rtol=0, atol=1e-12)


def test_kernels_are_fused_unless_it_is_said_otherwise():
    assert RotaryAttention(8, 2).fused
    assert NormedAttention(8, 2).fused


def test_without_fused_the_formulas_are_taken(monkeypatch):
    monkeypatch.setattr(F, "scaled_dot_product_attention", None)
    for parts in (LLAMA, QWEN, GPT):
        assert Gpt(CONFIG.replace(fused=False), parts)(TEXT).isfinite().all()


def test_keys_and_values_of_the_paper_have_each_their_width():
    heads = Gpt(CONFIG.replace(d_k=3, d_v=5)).decoder.layers[0].self_attention
    assert [w.out_features for w in (heads.w_q, heads.w_k, heads.w_v)] == [12, 12, 20]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_it_is_the_llama_of_hugging_face(tied, n_kv_heads, monkeypatch):
    made = transformers.LlamaConfig(**SIZES, num_key_value_heads=n_kv_heads, tie_word_embeddings=tied)
    ours = Llama(CONFIG.replace(n_kv_heads=n_kv_heads, tied=tied, rope_base=500.0)).double().eval()
    norm = transformers.models.llama.modeling_llama.LlamaRMSNorm
    assert_the_same(ours, transformers.LlamaForCausalLM(made), norm, monkeypatch)


def normed(c):
    return NormedAttention(
        c.d_model, c.n_heads, c.n_kv_heads, c.d_k, c.rope_base, c.attention_bias, c.fused, c.norm_eps
    )


QWEN = LLAMA._replace(attention=normed)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_with_normed_queries_and_keys_it_is_the_qwen_of_hugging_face(fused, n_kv_heads, monkeypatch):
    made = transformers.Qwen3Config(**SIZES, num_key_value_heads=n_kv_heads, head_dim=8, tie_word_embeddings=False)
    config = CONFIG.replace(n_kv_heads=n_kv_heads, tied=False, rope_base=500.0, fused=fused)
    norm = transformers.models.qwen3.modeling_qwen3.Qwen3RMSNorm
    assert_the_same(Gpt(config, QWEN).double().eval(), transformers.Qwen3ForCausalLM(made), norm, monkeypatch)


@pytest.mark.parametrize("parts", [LLAMA, QWEN])
def test_every_setting_reaches_its_part(parts):
    config = CONFIG.replace(norm_eps=0.25, attention_bias=True, d_k=6, rope_base=500.0, dropout=0.5)
    model = Gpt(config, parts)
    heads = [m for m in model.modules() if isinstance(m, RotaryAttention)]
    assert {m.eps for m in model.modules() if isinstance(m, RMSNorm)} == {0.25}
    assert [(m.w_q.out_features, m.w_k.out_features, m.base) for m in heads] == [(24, 12, 500.0)] * 2
    assert all(w.bias is not None for m in heads for w in (m.w_q, m.w_k, m.w_v, m.w_o))
    assert (model.embed(TEXT) == 0).any()
    assert not (model.eval().embed(TEXT) == 0).any()


def test_normed_queries_and_keys_have_the_length_that_their_scales_say():
    """However large the weights are: without scales of their own, no score is above the root of d_k."""
    heads = randomised(NormedAttention(32, 4, 2, eps=1e-12))
    x = torch.tensor(normal(2, 5, 32))
    with torch.no_grad():
        heads.w_q.weight *= 1000
        heads.norm_q.weight.fill_(2.0)
        heads.norm_k.weight.fill_(0.5)
    for made, length in ((heads.queries(x, 3), 2 * 8**0.5), (heads.keys(x, 3), 0.5 * 8**0.5)):
        assert torch.allclose(made.norm(dim=-1), torch.tensor(length, dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize("parts", [PAPER, GPT, LLAMA, QWEN])
def test_an_encoder_decoder_of_other_parts_learns_and_decodes_from_its_cache(parts):
    model = randomised(Transformer(CONFIG, parts)).eval()
    logits = model(SOURCE, TARGET)
    cache = stepper(model, model.encode(SOURCE), SOURCE, 4)
    assert isinstance(cache, Cache)
    steps = torch.cat([cache.step(TARGET[:1, place, None].repeat(2, 1)) for place in range(4)], 1)
    assert torch.allclose(steps[0], logits[0], rtol=0, atol=1e-12)
    logits.square().sum().backward()
    assert all(w.grad.abs().max() > 1e-9 for name, w in model.named_parameters() if not name.endswith("w_k.bias"))


def test_cross_attention_is_never_turned():
    """Where a word of the source is says nothing to it: only self-attention can tell."""
    model = randomised(Transformer(CONFIG, LLAMA)).eval()
    layer, memory = model.decoder.layers[0], torch.tensor(normal(1, 6, 32))
    assert type(layer.cross_attention) is MultiHeadAttention
    x, order = torch.tensor(normal(1, 3, 32)), [3, 1, 0, 5, 2, 4]
    assert torch.allclose(layer(x, memory), layer(x, memory[:, order]), rtol=0, atol=1e-12)


def test_what_is_moved_as_a_whole_is_seen_as_it_was():
    """Padding in front moves all words, and their distances stay."""
    model = randomised(Transformer(CONFIG, LLAMA)).eval()
    here, moved = model.encode(SOURCE[:1]), model.encode(F.pad(SOURCE[:1], (3, 0)))
    assert torch.allclose(here, moved[:, 3:], rtol=0, atol=1e-12)


def test_one_part_alone_can_be_another_in_any_model():
    parts = PAPER._replace(feed_forward=lambda c: SwiGLU(c.d_model, c.d_ff))
    for model in (Transformer(TINY, parts), Gpt(TINY, GPT._replace(feed_forward=parts.feed_forward))):
        kinds = {name.split(".")[-1]: type(m) for name, m in model.named_modules()}
        assert kinds["feed_forward"] is SwiGLU
        assert kinds["self_attention"] is MultiHeadAttention


# The cache


@pytest.mark.parametrize("pieces", [(1,) * 8, (3, 1, 4), (2, 6), (8,)])
@torch.inference_mode()
def test_a_text_read_in_pieces_gives_what_the_whole_text_gives(pieces):
    model, found, end = llama(), [], 0
    read = GptCache(model).read
    for piece in pieces:
        end += piece
        found.append(read(TEXT[:, :end]))
    assert torch.allclose(torch.cat(found, 1), model(TEXT), rtol=0, atol=1e-12)


@torch.inference_mode()
def test_slots_double_so_that_few_are_copied_and_end_with_the_context():
    cache, text, slots = GptCache(llama()), TEXT[:1].repeat(1, 4), []
    for end in (3, 4, 7, 13, 25):
        cache.read(text[:, :end])
        slots.append(cache.layers[0].keys.size(2))
    assert slots == [3, 6, 12, 24, 32]


def test_prompts_of_unequal_length_are_written_on_as_each_alone():
    prompts = [[1, 7, 8, 9, 5], [1, 3], [1, 19, 4]]
    for model in (llama(), llama(tied=False, n_kv_heads=1), randomised(Gpt(CONFIG)).eval()):
        together = sample(model, prompts, 12, top_k=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Uncached)
            listened = model.decoder.layers[0].register_forward_hook(lambda *given: None)
            assert torch.equal(together, sample(model, prompts, 12, top_k=1))
            listened.remove()
        for row, prompt in zip(together.tolist(), prompts, strict=True):
            alone = sample(model, torch.tensor([prompt]), 12, top_k=1)[0].tolist()
            assert row == alone + [0] * (len(row) - len(alone))


def test_a_text_catches_up_with_one_that_has_ended():
    prompts, model = [[1, 7, 8, 9, 5], [1, 3]], llama(eos_id=30)
    alone = [sample(model, [prompt], 12, top_k=1)[0].tolist() for prompt in prompts]
    assert [*map(len, alone)] == [6, 12], "the longest prompt ends first"
    together = sample(model, prompts, 12, top_k=1).tolist()
    assert together == [row + [0] * (12 - len(row)) for row in alone]


def test_equally_long_prompts_need_no_mask_even_if_one_has_ended(monkeypatch):
    masks, attend = [], KeysAndValues.attend

    def looked(kept, heads, offset, mask, *rest):
        masks.append(mask)
        return attend(kept, heads, offset, mask, *rest)

    monkeypatch.setattr(KeysAndValues, "attend", looked)
    texts = sample(llama(eos_id=30), TEXT[:, :3], 12, top_k=1)
    assert (texts == 30).any(1).tolist() == [True, False]
    assert set(masks) == {CAUSAL}


def test_prompts_of_int32_are_written_on_as_those_of_int64():
    texts = sample(llama(), TEXT[:, :3].int(), 9, top_k=1)
    assert texts.dtype == torch.int32
    assert torch.equal(texts, sample(llama(), TEXT[:, :3], 9, top_k=1).int())


def test_a_text_that_has_ended_needs_no_room_and_keeps_its_padding(monkeypatch):
    def read(ids, lengths):
        ends = (lengths == 4) | (ids[:, 1] == 3)
        return F.one_hot(torch.where(ends, 2, 5), 40).double()[:, None]

    monkeypatch.setattr("tested_transformer.decoding.sampling.reader", lambda model: read)
    texts = sample(llama(pad_id=39), [[1, 7, 8, 9], [1, 4], [1, 3]], 9, top_k=1)
    assert texts.tolist() == [[1, 7, 8, 9, 2], [1, 4, 5, 5, 2], [1, 3, 2, 39, 39]]


def test_a_prompt_of_unequal_ones_is_named_where_it_is_wrong():
    for prompts, words in (
        ([[1, 2], []], "each row a token"),
        ([], "must have a row"),
        ([[1], [1, 0]], "prompt 1 has pad_id"),
    ):
        with pytest.raises(ValueError, match=words):
            sample(llama(), prompts, 9)


def test_who_gives_up_the_cache_says_so_and_standard_modules_keep_it():
    model = llama()
    model.decoder.norm = nn.RMSNorm(32)
    for layer in model.decoder.layers:
        layer.feed_forward = nn.Sequential(nn.Linear(32, 32), nn.SiLU())
    assert isinstance(reader(model.double()).__self__, GptCache)
    model.decoder.norm.register_forward_hook(lambda *given: None)
    with pytest.warns(Uncached, match=r"decoder\.norm \(RMSNorm\) is not known to need new tokens only"):
        reader(model)


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")
def test_a_compiled_model_says_that_it_gives_up_the_cache():
    with unchecked(), pytest.warns(Uncached, match="OptimizedModule"):
        reader(torch.compile(llama()))


def test_a_class_that_may_be_cached_hands_that_on_but_not_a_forward_of_its_own():
    class Heir(RotaryAttention):
        pass

    class Other(RotaryAttention):
        def attend(self, *given):
            return super().attend(*given)

    class Louder(Gpt):
        cacheable = True

        def forward(self, ids):
            return 2 * super().forward(ids)

    model = llama()
    model.decoder.layers[0].self_attention.__class__ = Heir
    assert isinstance(reader(model).__self__, GptCache)
    model.decoder.layers[0].self_attention.__class__ = Other
    with pytest.warns(Uncached, match=r"self_attention \(Other\)"):
        reader(model)
    with pytest.raises(ValueError, match=r"the model \(Louder\) may need the whole text"):
        GptCache(Louder(TINY))


class Plain(SwiGLU):
    def __init__(self):
        super().__init__(16, 16)

    def extra_repr(self):
        return "plain"


class Uncacheable(SwiGLU):
    cacheable = False


class Unknown(nn.Module):
    def forward(self, x):
        return x


def test_a_module_is_known_by_its_class_its_methods_and_its_hooks(monkeypatch):
    def found(part):
        model = Gpt(TINY)
        model.decoder.layers[0].feed_forward = part
        return passed_by(model)

    hooked, method = SwiGLU(16, 16), SwiGLU(16, 16)
    hooked.register_forward_pre_hook(lambda *given: None)
    method.forward = method.forward
    assert found(Plain()) is found(SwiGLU(16, 16)) is None
    for part in (hooked, method, Uncacheable(16, 16), Unknown()):
        assert found(part) == f"decoder.layers.0.feed_forward ({type(part).__name__})"
    assert found(FeedForward(16, 16)) is None
    monkeypatch.setattr(FeedForward, "forward", Unknown.forward)
    assert "feed_forward (FeedForward)" in found(FeedForward(16, 16))


def test_the_encoder_of_a_translator_is_called_whole_and_all_else_is_not():
    expected = {"encoder.norm": None, "decoder.norm": "decoder.norm (Unknown)", "positions": "positions"}
    for place, words in expected.items():
        model = Transformer(TINY)
        model.set_submodule(place, Unknown())
        assert (passed_by(model) or "None").startswith(str(words))


def test_a_factor_makes_its_pair_of_columns_slower():
    x = torch.from_numpy(normal(1, 2, 5, 8))
    plain, factors = rotate(x, 3), (1.0, 4.0, 0.5, 1.0)
    slowed = rotate(x, 3, factors=factors)
    for i, factor in enumerate(factors):
        pair = [i, i + 4]
        assert torch.equal(slowed[..., pair], plain[..., pair]) == (factor == 1.0)
        for t in range(5):
            angle = torch.tensor((3 + t) * 10_000.0 ** (-i / 4) / factor, dtype=torch.float64)
            a, b = x[..., t, i], x[..., t, i + 4]
            wanted = torch.stack([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)
            assert torch.allclose(slowed[..., t, pair], wanted, rtol=0, atol=1e-12)


def test_angles_that_are_kept_are_those_of_what_is_asked():
    """Between calls of inference the angles are kept: for a place, a base, factors, a dtype, and for no others."""
    x = torch.from_numpy(normal(1, 2, 5, 8))
    asked = [(0, 1e4, None), (0, 1e4, (1.0, 2.0, 3.0, 4.0)), (0, 5e2, None), (7, 1e4, None), (0, 1e4, None)]
    wanted = [rotate(x, *each) for each in asked]
    with torch.inference_mode():
        for each, want in zip(asked, wanted, strict=True):
            for _ in range(2):
                assert torch.equal(rotate(x, *each), want)
            assert torch.equal(rotate(x[:, :, :3], *each), want[:, :, :3])
            assert rotate(x.float(), *each).dtype == torch.float32
            offset = torch.tensor([[each[0]]])
            assert torch.equal(rotate(x, offset, *each[1:]), want)
        rotate(x, *asked[0])
    rotate(x.requires_grad_(), *asked[0]).sum().backward()  # what was made for inference cannot be learned through
    assert x.grad.abs().max() > 0


# On disk


@pytest.mark.parametrize("tied", [True, False])
def test_a_llama_comes_back_with_its_settings(tmp_path, tied):
    model = llama(tied=tied, rope_base=500.0)
    checkpoint.save(tmp_path, model)
    again, _ = checkpoint.load(tmp_path, kind=Llama)
    assert again.config == model.config
    assert torch.equal(again(TEXT), model(TEXT))
    with pytest.raises(ValueError, match=r"of another kind: its model is 'Llama', not 'Gpt'\ngive kind=Llama"):
        checkpoint.load(tmp_path, kind=Gpt)


def test_what_would_be_silently_wrong_is_refused(tmp_path):
    model = randomised(Transformer(CONFIG, LLAMA)).eval()
    checkpoint.save(tmp_path, model)
    with pytest.raises(ValueError, match="is of a model with modules of its own"):
        checkpoint.load(tmp_path)
    assert torch.equal(
        checkpoint.load_into(tmp_path, Transformer(CONFIG, LLAMA).double())(SOURCE, TARGET), model(SOURCE, TARGET)
    )
    for other, words in (
        (CONFIG.replace(rope_base=500.0), r"config\.json has another rope_base: 10000\.0, the model 500\.0"),
        (CONFIG.replace(norm_eps=1e-6), "another norm_eps"),
    ):
        with pytest.raises(ValueError, match=words):
            checkpoint.load_into(tmp_path, Transformer(other, LLAMA))
    parts = LLAMA._replace(attention=lambda c: RotaryAttention(c.d_model, c.n_heads, c.n_kv_heads, base=5e5))
    with pytest.raises(ValueError, match="another settings"):
        checkpoint.load_into(tmp_path, Transformer(CONFIG, parts))
    other = Transformer(CONFIG, LLAMA)
    other.encoder.layers[0].self_attention.base = 500.0  # in one layer of several
    with pytest.raises(ValueError, match=r"another settings: .*encoder\.layers\.0\.self_attention\.base"):
        checkpoint.load_into(tmp_path, other)


@pytest.mark.parametrize(("saved", "own"), [({"tied": True}, {}), ({}, {"tied": True}), ({"tied": True}, {"tied": 0})])
def test_a_setting_that_only_one_side_has_is_another(saved, own):
    with pytest.raises(ValueError, match="has another tied"):
        checkpoint.check_same(saved, own, Path("config.json"))


def test_what_changes_no_number_of_a_model_at_rest_may_be_another(tmp_path):
    model = randomised(Transformer(CONFIG, LLAMA)).eval()
    checkpoint.save(tmp_path, model)
    for changes in ({"dropout": 0.5}, {"fused": False}, {"max_len": 64}):
        again = checkpoint.load_into(tmp_path, Transformer(CONFIG.replace(**changes), LLAMA).double())
        assert torch.allclose(again(SOURCE, TARGET), model(SOURCE, TARGET), rtol=0, atol=1e-12)


def test_a_gpt_with_normed_attention_comes_back_into_itself_only(tmp_path):
    model = randomised(Gpt(CONFIG, QWEN)).eval()
    checkpoint.save(tmp_path, model)
    with pytest.raises(ValueError, match=r"is of a model with modules of its own, such as"):
        checkpoint.load(tmp_path, kind=Gpt)
    again = checkpoint.load_into(tmp_path, Gpt(CONFIG, QWEN).double())
    assert torch.equal(again(TEXT), model(TEXT))
    other = QWEN._replace(attention=lambda c: NormedAttention(c.d_model, c.n_heads, c.n_kv_heads, eps=1e-6))
    for parts, words in ((other, r"another settings: .*eps"), (LLAMA, "another")):
        with pytest.raises(ValueError, match=words):
            checkpoint.load_into(tmp_path, Gpt(CONFIG, parts))


def test_a_config_that_could_not_be_read_again_is_not_saved(tmp_path):
    with pytest.raises(TypeError, match=r"config of a Gpt \(LlamaConfig\) must be a Config"):
        checkpoint.save(tmp_path, Gpt(CONFIG))
    assert not list(tmp_path.iterdir())


# Refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_kv_heads": 3}, r"n_kv_heads \(3\) must divide n_heads \(4\)"),
        ({"n_kv_heads": 0}, r"n_kv_heads \(0\) must be at least 1"),
        ({"rope_base": 0.0}, r"rope_base \(0\.0\) must be positive"),
        ({"rope_factors": (1.0,)}, r"rope_factors \(1 of them\) must be one for each of 4 pairs"),
        ({"rope_factors": (1.0, 1.0, 1.0, -1.0)}, r"rope_factors \(-1\.0\) must be positive"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        CONFIG.replace(**changes)


def test_types_that_cannot_be_are_refused():
    with unchecked():
        with pytest.raises(TypeError, match=r"tied \(1\) must be True or False"):
            CONFIG.replace(tied=1)
        with pytest.raises(TypeError, match=r"config must be a .*LlamaConfig, not Config"):
            Llama(Config(40))


def test_a_text_that_is_longer_than_its_context_is_refused():
    with pytest.raises(ValueError, match=r"offset \(0\) \+ length \(33\) must not exceed max_len \(32\)"):
        llama()(torch.ones(1, 33, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"offset \(4\) \+ length \(1\) must not exceed max_len \(4\)"):
        NoPositions(4)(torch.ones(1, 1, 2), 4)


def test_with_other_sizes_heads_and_groups_follow():
    assert CONFIG.replace(n_heads=8).n_kv_heads == 2
    assert LlamaConfig(40).n_kv_heads == 8
    assert type(Llama(LlamaConfig(40, 8, 8, 1, 1)).tokens) is Embedding
    assert isinstance(llama(tied=False).tokens, UntiedEmbedding)
    assert NoPositions(4)(torch.ones(1, 4, 2)).sum() == 8

"""Leaving out padding changes nothing but the time."""

import pytest
import torch

from tested_transformer.config import TINY
from tested_transformer.data.batches import _tensors
from tested_transformer.model.transformer import Transformer
from tested_transformer.training.packed import Layout, decode_packed

BATCH = [([5, 6, 7, 2], [1, 8, 9]), ([4, 2], [1, 10, 11, 12, 13]), ([9, 9, 9, 9, 9, 2], [1]), ([4, 6, 9, 2], [1, 7, 7])]


@pytest.mark.parametrize("change", [{}, {"norm_first": True}, {"final_norm": True, "attention_bias": True}])
@pytest.mark.parametrize("chosen", [[0, 1, 2], [0, 3]], ids=["ragged", "without padding"])
def test_packed_rows_and_their_gradients_are_those_of_the_padded_model(change, chosen):
    torch.manual_seed(0)
    model = Transformer(TINY.replace(**change)).double()
    source, target = _tensors(BATCH, chosen)
    real = target != 0
    padded = model.decode(target, model.encode(source), source)[real]
    upstream = torch.randn_like(padded)
    wanted = torch.autograd.grad(padded, list(model.parameters()), upstream)
    packed = decode_packed(model, source, target)
    torch.testing.assert_close(packed, padded, rtol=0, atol=1e-12)
    for one, other in zip(torch.autograd.grad(packed, list(model.parameters()), upstream), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


def test_a_layout_finds_its_way_back():
    real = torch.tensor([[True, True, False], [False, False, False], [True, False, True]])
    x = torch.arange(18.0).reshape(3, 3, 2)
    layout = Layout.of(real)
    assert torch.equal(layout.pack(x), x[real])
    assert torch.equal(layout.unpack(layout.pack(x)), x * real[..., None])
    everywhere = Layout.of(torch.ones(3, 3, dtype=torch.bool))
    assert (everywhere.full, layout.full) == (True, False)
    assert torch.equal(everywhere.unpack(everywhere.pack(x)), x)


def test_dropout_is_on_in_training_only():
    torch.manual_seed(0)
    model = Transformer(TINY.replace(dropout=0.5))
    batch = _tensors(BATCH, [0, 1, 2])
    assert not torch.equal(decode_packed(model, *batch), decode_packed(model, *batch))
    model.eval()
    assert torch.equal(decode_packed(model, *batch), decode_packed(model, *batch))

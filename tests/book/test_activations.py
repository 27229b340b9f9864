"""What goes through the trained translator, beside what its modules say when they are called one by one."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from tested_transformer.book.activations import along, fed_forward, head_gradients, nudged, projected, shapes, stream
from tested_transformer.book.coreference import RUNNING
from tested_transformer.book.interventions import sublayers
from tested_transformer.book.pretrained import load
from tested_transformer.byhand.attention import attention as byhand
from tested_transformer.byhand.attention import attention_backward

ENGLISH = "We help the old woman."


@pytest.fixture(scope="module")
def translator():
    return load()


def test_the_lengths_of_a_row_are_those_of_its_way(translator):
    text, it = RUNNING[0].english, 5
    steps, (rows, added) = along(translator, text, "it"), stream(translator, text, "it")
    start = translator.model.embedding(torch.tensor([translator.encode(text, 1)]))[0, it].detach().numpy()
    wanted = [start, *(before for before, *_ in steps), steps[-1][2]]
    assert rows == pytest.approx([np.linalg.norm(row) for row in wanted])
    assert added == pytest.approx([8.0, *(np.linalg.norm(more) for _, more, _ in steps)])  # 64 pairs of sine and cosine


def test_a_row_goes_through_sum_and_norm_box_by_box(translator):
    steps = along(translator, RUNNING[0].english, "it")
    norms = [translator.model.get_submodule(n).norm for n in sublayers(translator).values() if "encoder" in n]
    for (before, added, after), norm in zip(steps, norms, strict=True):
        with torch.no_grad():
            assert np.allclose(norm(torch.tensor(before + added)), after)
    for (*_, after), (before, *_) in pairwise(steps):
        assert np.array_equal(after, before)


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2])
def test_a_row_is_fed_as_the_layer_feeds_it(translator, layer):
    english = RUNNING[1].english
    network = translator.model.encoder.layers[layer - 1].feed_forward
    found = fed_forward(translator, english, "it", layer)
    assert [x.shape for x in found] == [(128,), (256,), (128,)]
    row = torch.tensor(found.row)
    assert network.w_1(row).numpy() == pytest.approx(found.inner)
    assert network(row).numpy() == pytest.approx(found.added)
    lengths = stream(translator, english, "it")[1]  # its position, attention, network, attention, network
    assert np.linalg.norm(found.added) == pytest.approx(lengths[2 * layer])


def test_queries_keys_and_values_of_a_head_give_its_weights(translator):
    english = RUNNING[0].english
    weights = translator.look(english, "")[2]["encoder"]
    for layer, head in ((1, 1), (2, 3), (2, 4)):
        tokens, (q, k, v) = projected(translator, english, layer, head)
        assert tokens == [translator.name(i) for i in translator.encode(english, 1)]
        assert q.shape == k.shape == v.shape == (len(tokens), 32)
        assert byhand(q, k, v)[1] == pytest.approx(weights[layer - 1, head - 1].numpy())


def test_the_shapes_of_the_way_have_one_size_for_each_letter(translator):
    c, found = translator.model.config, shapes(translator)
    sizes = {}
    for name, axes, shape in found:
        assert len(axes.split()) == len(shape), name
        for letter, size in zip(axes.split(), shape, strict=True):
            assert sizes.setdefault(letter, size) == size, (name, letter)
    german = max(len(translator.tokens.encode(sentence.german)) for sentence in RUNNING)
    assert sizes == {
        "B": 3, "S": 10, "T": german + 1, "D": c.d_model, "H": c.n_heads, "Tq": 10, "Tk": 10, "Dk": c.d_k,
        "F": c.d_ff, "V": c.vocab_size,
    }  # fmt: skip
    assert len({size for letter, size in sizes.items() if letter not in ("Tq", "Tk")}) == 8, "sizes that tell apart"


def test_what_arrives_at_a_head_leads_by_hand_to_the_gradient_that_pytorch_finds(translator):
    blamed = head_gradients(translator, RUNNING[0], layer=1, head=2)
    q, k, v = blamed.parts
    weights = byhand(q, k, v)[1]
    d_q = attention_backward(blamed.d_out, q, k, v, weights)[0]
    assert np.allclose(blamed.x.T @ d_q, blamed.d_w_q, rtol=1e-6, atol=1e-15)
    assert blamed.loss == pytest.approx(-np.log(blamed.p["er"]))
    assert blamed.d_logits["er"] == pytest.approx(blamed.p["er"] - 1)
    assert blamed.d_logits["sie"] == pytest.approx(blamed.p["sie"])
    assert all(parameter.grad is None for parameter in translator.model.parameters())


def test_what_is_nudged_moves_itself_and_others(translator):
    found = nudged(translator, ENGLISH, times=2)
    assert found.shape == (7, 7)
    assert (found > 0).all()
    twice = nudged(translator, ENGLISH, times=2)
    assert np.array_equal(found, twice)

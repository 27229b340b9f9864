"""What the tests of whole models need: weights all at work, ragged sentences, gradients side by side."""

import numpy as np
import torch
from helpers import normal

PAD, BOS, EOS = 0, 1, 2


def randomised(module, seed=0):
    """Every parameter drawn anew, in float64: no bias is 0 and no norm is 1, so that a forgotten one is seen."""
    rng = np.random.default_rng(seed)
    module = module.double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            drawn = rng.normal(size=parameter.shape)
            if parameter.dim() == 2:
                drawn *= parameter.shape[1] ** -0.5
            else:
                drawn = 0.3 * drawn + float(name.endswith("weight"))
            parameter.copy_(torch.tensor(drawn))
    return module


def filled(module, seed=0):
    """A randomised module, and its parameters as arrays."""
    module = randomised(module, seed)
    return module, {name: value.detach().numpy().copy() for name, value in module.state_dict().items()}


def ragged(batch, length, vocab_size, seed=0):
    """Ids of sentences of different lengths, filled up; the first is the longest, the last has one token."""
    ids = np.random.default_rng([seed, batch, length]).integers(3, vocab_size, size=(batch, length))
    for i, row in enumerate(ids):
        row[length - i * (length - 1) // max(batch - 1, 1) :] = PAD
    return ids


def sentences(config, batch=3, source=5, target=4, seed=0):
    """Ragged source and target ids as tensors, each target behind bos_id."""
    sources, targets = (ragged(batch, n, config.vocab_size, seed + n) for n in (source, target))
    targets[:, 0] = BOS
    return torch.tensor(sources), torch.tensor(targets)


def gradients(model, source, target, seed=0):
    """Logits, and the gradient of every parameter for a random gradient of the logits."""
    model.zero_grad()
    logits = model(source, target)
    logits.backward(torch.tensor(normal(*logits.shape, seed=seed)).to(logits.dtype))
    return logits, {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def assert_same_gradients(found, expected, near):
    """Every gradient, whole; that of a key bias is zero, so what noise there is of it is held against the others."""
    assert found.keys() == expected.keys()
    largest = max(np.abs(np.asarray(value)).max() for value in expected.values())
    for name, value in expected.items():
        mine, other = np.asarray(found[name]), np.asarray(value)
        assert mine.shape == other.shape, name
        allowed = near * (largest if name.endswith("w_k.bias") else np.abs(other).max())
        off = np.abs(mine - other).max()
        assert off <= allowed, f"{name}: off by {off:.3g}, where {allowed:.3g} is allowed"

"""The hundred people, and the model that has read what they wrote."""

import numpy as np
import torch

from tested_transformer.book.small import calibration
from tested_transformer.text.tokens import BOS, EOS, PAD


def test_a_hundred_people_translate_each_sentence():
    for english in ("I love AI", "I love AI so much"):
        counts = [n for source, _, n in calibration.COUNTS if source == english]
        assert sum(counts) == 100
        assert all(n % 2 == 0 for n in counts)
        assert calibration.read(english).shape == (1, 5)
    assert calibration.read("I love AI")[0, 3:].tolist() == [PAD, PAD]
    assert calibration.say([*calibration.ids("ich liebe KI"), EOS, PAD]) == "ich liebe KI <eos>"
    assert calibration.ids("") == []


def test_the_model_gives_back_what_share_wrote_each_sentence():
    model = calibration.trained()
    assert not model.training
    for english, german, n in calibration.COUNTS:
        tokens = [*calibration.ids(german), EOS]
        with torch.no_grad():
            logits = model(calibration.read(english), torch.tensor([[BOS, *tokens[:-1]]]))[0]
        p = np.exp(logits.log_softmax(-1)[range(len(tokens)), tokens].sum().item())
        assert abs(p - n / 100) < 0.03

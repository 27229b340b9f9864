"""The running example of the book: three words, width three, whole numbers, to be checked on paper."""

import numpy as np

from tested_transformer.byhand.transformer import create_params
from tested_transformer.config import Config
from tested_transformer.params import Params, part

WORDS = ("I", "love", "AI")

X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
"""One row for each word."""

W_Q = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
W_K = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
W_V = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""Written as the paper writes them, (in, out): queries are X W_Q."""

W_Q2 = np.array([[-3.0, 3.0, 0.0], [3.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
W_K2 = np.array([[0.0, -1.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, -1.0]])
W_V2 = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""A second head, which looks at a neighbour."""

W_O = np.array(
    [
        [0.0, 0.0, 1.0],
        [0.0, 1.0, 0.0],
        [1.0, 0.0, 1.0],
        [0.0, 0.0, 1.0],
        [-1.0, 1.0, 0.0],
        [0.0, 0.0, -1.0],
    ]
)
"""From both heads side by side, six numbers, back to width three."""

W_1 = np.array([[1.0, 0.0, 0.0, -1.0], [-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
B_1 = np.array([0.0, 0.0, 1.0, 0.0])
W_2 = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 1.0]])
B_2 = np.array([0.0, 0.0, 1.0])
"""The feed-forward network, four numbers wide in the middle."""

TARGET = ("<bos>", "ich", "liebe", "KI")

Y = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
"""What the decoder has written so far, one row for each word."""

C_Q = np.array([[0.0, 2.0, -1.0], [0.0, -1.0, -1.0], [0.0, 0.0, 2.0]])
C_K = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 1.0], [0.0, 1.0, -1.0]])
C_V = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
C_O = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
"""Cross-attention with one head: here a word looks for the one it has to translate next."""

P = np.array([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.3, 0.4, 0.5]])
"""Toy positions, one row for each place in the sentence. Not the paper's: those come in the chapter on positions."""

LAYER = {
    "self_attention.w_q.weight": np.hstack([W_Q, W_Q2]).T,
    "self_attention.w_k.weight": np.hstack([W_K, W_K2]).T,
    "self_attention.w_v.weight": np.hstack([W_V, W_V2]).T,
    "self_attention.w_o.weight": W_O.T,
    "addnorm_1.norm.weight": np.ones(3),
    "addnorm_1.norm.bias": np.zeros(3),
    "feed_forward.w_1.weight": W_1.T,
    "feed_forward.w_1.bias": B_1,
    "feed_forward.w_2.weight": W_2.T,
    "feed_forward.w_2.bias": B_2,
    "addnorm_2.norm.weight": np.ones(3),
    "addnorm_2.norm.bias": np.zeros(3),
}
"""One encoder layer of all these: its parameters under the names of the package, (out, in)."""

DECODER_LAYER = {
    "self_attention.w_q.weight": W_Q.T,
    "self_attention.w_k.weight": W_K.T,
    "self_attention.w_v.weight": W_V.T,
    "self_attention.w_o.weight": W_O[:3].T,
    "cross_attention.w_q.weight": C_Q.T,
    "cross_attention.w_k.weight": C_K.T,
    "cross_attention.w_v.weight": C_V.T,
    "cross_attention.w_o.weight": C_O.T,
    **{name: w for name, w in LAYER.items() if not name.startswith("self_attention")},
    "addnorm_3.norm.weight": np.ones(3),
    "addnorm_3.norm.bias": np.zeros(3),
}
"""One decoder layer, with one head in each attention."""


def encoder_start(
    rng: np.random.Generator, n_layers: int, d_model: int, d_ff: int, gain: float = 0.5
) -> Params:
    """The parameters of an encoder before training, drawn as those of all models of the book."""
    sizes = {"d_model": d_model, "d_ff": d_ff, "n_layers": n_layers, "n_heads": 1}
    return part(create_params(Config(4, **sizes), rng, gain), "encoder")

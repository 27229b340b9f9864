"""The feed-forward network of a layer in PyTorch."""

from collections.abc import Callable
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from tested_transformer.checks import at_least, checked
from tested_transformer.model import _checks as rules
from tested_transformer.model.linear import create_linear_layer

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "gelu_tanh": partial(nn.GELU, approximate="tanh"),
    "silu": nn.SiLU,
}


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2, each token by itself (paper, equation 2).

    d_ff is the width in between. The activation is "relu" as in the paper, "gelu"
    as in BERT, or "gelu_tanh", the approximation of it that GPT-2 was trained with.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        super().__init__()
        at_least(1, d_model=d_model, d_ff=d_ff)
        if activation not in ACTIVATIONS:
            known = " or ".join(map(repr, ACTIVATIONS))
            raise ValueError(f"activation ({activation!r}) must be {known}")
        self.d_model = d_model
        self.w_1 = create_linear_layer(d_model, d_ff)
        self.activation = ACTIVATIONS[activation]()
        self.w_2 = create_linear_layer(d_ff, d_model)

    @checked(rules.feed_forward)
    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Widen, activate, narrow."""
        return self.w_2(self.activation(self.w_1(x)))  # (*B, D) -> (*B, F) -> (*B, D)

"""The linear map that every box of the Transformer is built from."""

from torch import Tensor, nn

from tested_transformer.checks import instance


def create_linear_layer(d_in: int, d_out: int, bias: bool = True) -> nn.Linear:
    """PyTorch's linear layer, with weights half as large as Glorot and Bengio's (2010).

    They lie evenly within ±½√(6 / (d_in + d_out)); biases begin at zero. The paper
    names no start.
    """
    layer = nn.Linear(d_in, d_out, bias)
    nn.init.xavier_uniform_(layer.weight, gain=0.5)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def check_rows(x: Tensor, width: int, name: str = "x", what: str = "d_model") -> None:
    """Refuse what is no rows of so many numbers; width is called what in errors."""
    if isinstance(x, Tensor) and x.shape[-1:] == (width,) and x.is_floating_point():
        return  # at once: a step of decoding asks, too
    instance(Tensor, **{name: x})
    if x.shape[-1:] != (width,):
        found = x.size(-1) if x.dim() else "none"
        raise ValueError(f"the width of {name} ({found}) must be {what} ({width})")
    raise TypeError(f"{name} must be of a floating-point type, not {x.dtype}")


def check_sentences(d_model: int, **given: Tensor) -> None:
    """Refuse what is no batch of sentences, each a row of d_model numbers a token."""
    instance(Tensor, **given)
    for name, x in given.items():
        if x.dim() != 3:
            rule = "must have three axes (batch, length, width)"
            raise ValueError(f"{name} of shape {tuple(x.shape)} {rule}")
        check_rows(x, d_model, name)

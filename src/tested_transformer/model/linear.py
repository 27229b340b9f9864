"""The linear map that every box of the Transformer is built from."""

from torch import nn


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

"""Multi-head attention in PyTorch."""

from jaxtyping import Float
from torch import Tensor, nn

from tested_transformer.checks import checked, divisible
from tested_transformer.model import _checks as rules
from tested_transformer.model.attention import Mask, attention, fused_attention
from tested_transformer.model.linear import create_linear_layer


class MultiHeadAttention(nn.Module):
    """Several small attentions side by side (paper, Section 3.2.2).

    d_k and d_v, the widths of one head, are d_model / n_heads unless given. The paper
    has no bias here, and no dropout on the weights. With fused, PyTorch's kernel does
    the work whenever nobody asks for the weights.
    """

    @checked(rules.head_sizes)
    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        d_k, d_v = d_k or d_model // n_heads, d_v or d_model // n_heads
        self.d_model, self.n_heads = d_model, n_heads
        self.dropout, self.fused = dropout, fused
        self.w_q = create_linear_layer(d_model, n_heads * d_k, bias)
        self.w_k = create_linear_layer(d_model, n_heads * d_k, bias)
        self.w_v = create_linear_layer(d_model, n_heads * d_v, bias)
        self.w_o = create_linear_layer(n_heads * d_v, d_model, bias)

    @checked(rules.heads)
    def forward(
        self,
        query: Float[Tensor, "B Tq D"],
        key: Float[Tensor, "B Tk D"],
        value: Float[Tensor, "B Tk D"],
        mask: Mask = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B Tq D"], Float[Tensor, "B H Tq Tk"] | None]:
        """Project, split, attend in every head, join, project: returns (out, weights).

        mask is (Tq, Tk), or has four axes that broadcast to (B, H, Tq, Tk).
        """
        q, k, v = self.queries(query), self.keys(key), self.values(value)
        return self.attend(q, k, v, mask, need_weights)

    def queries(
        self, x: Float[Tensor, "B T D"], offset: int | Tensor = 0
    ) -> Float[Tensor, "B H T Dk"]:
        """What each row asks for, in every head.

        Rows are at the positions offset, offset + 1 …; offset is above 0 where
        earlier tokens are cached. Here it changes nothing; in a subclass it may.
        """
        return split_heads(self.w_q(x), self.n_heads)

    def keys(
        self, x: Float[Tensor, "B T D"], offset: int | Tensor = 0
    ) -> Float[Tensor, "B H T Dk"]:
        """What each row is found by, in every head; offset as in `queries`."""
        return split_heads(self.w_k(x), self.n_heads)

    def values(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T Dv"]:
        """What each row hands over where it is looked at, in every head."""
        return split_heads(self.w_v(x), self.n_heads)

    def attend(
        self,
        q: Float[Tensor, "B H Tq Dk"],
        k: Float[Tensor, "B H Tk Dk"],
        v: Float[Tensor, "B H Tk Dv"],
        mask: Mask = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B Tq D"], Float[Tensor, "B H Tq Tk"] | None]:
        """Attention in every head, then join and project: returns (out, weights)."""
        dropout = self.dropout if self.training else 0.0
        if need_weights or not self.fused:
            out, weights = attention(q, k, v, mask, dropout)
        else:
            out, weights = fused_attention(q, k, v, mask, dropout), None
        return self.w_o(join_heads(out)), weights if need_weights else None


@checked(divisible)
def split_heads(x: Float[Tensor, "B T W"], n_heads: int) -> Float[Tensor, "B H T W/H"]:
    """Cut each row into one piece for each head; the heads become the second axis."""
    pieces = x.unflatten(-1, (n_heads, -1))
    return pieces.transpose(1, 2)  # (B, T, H, W/H) -> (B, H, T, W/H)


def join_heads(x: Float[Tensor, "B H T W"]) -> Float[Tensor, "B T H*W"]:
    """Undo `split_heads`: put the pieces of each row side by side again."""
    return x.transpose(1, 2).flatten(-2)

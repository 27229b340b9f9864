"""A recurrent network in PyTorch, and the encoder-decoder that is built from two."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tested_transformer.checks import at_least, checked
from tested_transformer.config import SpecialIds
from tested_transformer.model import _checks as rules

BOS = SpecialIds().bos


class Recurrence(nn.Module):
    """h_t = tanh(x_t W^x + h_(t-1) W^h + b), from the first token to the last.

    `start` is the state before the first token; the states after each token come back.
    d_in is the width of a token, d_model the width of the state.
    """

    def __init__(self, d_in: int, d_model: int) -> None:
        super().__init__()
        at_least(1, d_in=d_in, d_model=d_model)
        self.input = nn.Linear(d_in, d_model)
        self.hidden = nn.Linear(d_model, d_model, bias=False)

    @checked(rules.recurrence)
    def forward(
        self, x: Float[Tensor, "*B T I"], start: Float[Tensor, "*B O"]
    ) -> Float[Tensor, "*B T O"]:
        """All of x is multiplied at once; then one step has to follow the other."""
        state, states = start, []
        for from_input in self.input(x).unbind(-2):
            state = torch.tanh(from_input + self.hidden(state))
            states.append(state)
        return torch.stack(states, dim=-2)


class EncoderDecoder(nn.Module):
    """Read a source, hand its last state on, and write a target from it.

    If `look` is given, `look(states, memory)` is added to what the decoder knows before
    it picks tokens: a function of its own states (B, T, D) and the encoder's (B, S, D).
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        look: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        at_least(1, vocab_size=vocab_size)
        self.encoder = Recurrence(d_model, d_model)
        self.decoder = Recurrence(d_model, d_model)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.output = nn.Linear(d_model, vocab_size)
        self.look = look

    @checked(rules.read)
    def encode(self, source: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """The encoder's state after each token. Sources have no padding."""
        x = self.embedding(source)
        return self.encoder(x, torch.zeros_like(x[:, 0]))

    def decode(
        self,
        target: Int[Tensor, "B T"],
        start: Float[Tensor, "B D"],
        memory: Float[Tensor, "B S D"],
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B D"]]:
        """Logits for the token after each of the target, and the decoder's last state.

        `memory` are the encoder's states; without `look` nobody reads them.
        """
        states = self.decoder(self.embedding(target), start)
        seen = states if self.look is None else states + self.look(states, memory)
        return self.output(seen), states[:, -1]

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Logits for the token after each of the target, which begins with BOS."""
        memory = self.encode(source)
        return self.decode(target, memory[:, -1], memory)[0]

    @torch.no_grad()
    def write(
        self, source: Int[Tensor, "B S"], length: int
    ) -> Int[Tensor, "B {length}"]:
        """`length` tokens for each source: each time the likeliest, which is then read.

        What comes after a first EOS means nothing.
        """
        at_least(1, length=length)
        memory = self.encode(source)
        state = memory[:, -1]
        tokens = [source.new_full((len(source), 1), BOS)]
        for _ in range(length):
            logits, state = self.decode(tokens[-1], state, memory)
            tokens.append(logits.argmax(-1))
        return torch.cat(tokens[1:], dim=1)

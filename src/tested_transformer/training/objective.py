"""What training makes small."""

from torch import Tensor, nn

from tested_transformer.model.transformer import Transformer
from tested_transformer.training.loss import smoothed_loss


class NextToken(nn.Module):
    """The loss of every next token, summed.

    Target sentences run from bos_id to eos_id. The model reads all but the last token
    and is asked for all but the first, but not for padding.
    """

    def __init__(self, model: Transformer, smoothing: float) -> None:
        super().__init__()
        self.model, self.smoothing = model, smoothing

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """The summed loss and the number of tokens that the model would have chosen."""
        pad, wanted = self.model.config.pad_id, target[:, 1:]
        logits = self.model(source, target[:, :-1])
        smoothing = self.smoothing if self.training else 0.0
        loss = smoothed_loss(logits, wanted, pad, smoothing, "sum")
        return loss, ((logits.argmax(-1) == wanted) & (wanted != pad)).sum()


def n_tokens(target: Tensor, pad_id: int) -> int:
    """How many tokens the model is asked for: all but the first, and no padding."""
    return int((target[:, 1:] != pad_id).sum())

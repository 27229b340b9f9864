"""What a trained model looks at: the weights of all its attentions in one pass."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tested_transformer.decoding.inference import inference
from tested_transformer.model.transformer import Transformer


def attention_weights(
    model: Transformer, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
) -> dict[str, Float[Tensor, "L B H Tq Tk"]]:
    """Weights of all layers (L) and heads (H), rows for queries, columns for keys.

    "encoder": source to source. "decoder": target to itself. "cross": target to source.
    """
    seen: dict[str, list[Tensor]] = {"encoder": [], "decoder": [], "cross": []}
    hooks = []
    for kind in ("encoder", "decoder"):
        for layer in getattr(model, kind).layers:
            hooks += listen(layer.self_attention, seen[kind])
    for layer in model.decoder.layers:
        hooks += listen(layer.get_submodule("cross_attention"), seen["cross"])
    try:
        with inference(model):
            model(source, target)
    finally:
        for hook in hooks:
            hook.remove()
    return {kind: torch.stack(weights) for kind, weights in seen.items()}


def listen(heads: nn.Module, into: list[Tensor]) -> list[Any]:
    """Ask for the weights of a `MultiHeadAttention` at each call, and collect them."""

    def ask(module: nn.Module, args: Any, kwargs: Any) -> Any:
        return args, kwargs | {"need_weights": True}

    def keep(module: nn.Module, args: Any, out: Any) -> None:
        into.append(out[1])

    return [
        heads.register_forward_pre_hook(ask, with_kwargs=True),
        heads.register_forward_hook(keep),
    ]

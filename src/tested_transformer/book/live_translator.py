"""What the translator in the pages shows before its weights are there: the same translator, asked beforehand."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from tested_transformer.decoding.beam import Search
from tested_transformer.decoding.inference import inference
from tested_transformer.decoding.translator import Translator
from tested_transformer.shares import as_share


class Answer(NamedTuple):
    """A sentence, its tokens, and the tokens of its translation, of which the last is `<eos>`."""

    english: str
    reads: list[str]
    german: str
    writes: list[str]
    opening: dict[str, Any] | None = (
        None  # of the first of several, before anything is loaded
    )


def answers(translator: Translator, texts: Sequence[str]) -> list[Answer]:
    """What the model writes for each text, always with the most probable token."""
    tokens = translator.tokens
    greedy = Translator(translator.model, tokens, width=1)

    def named(text: str) -> list[str]:
        return [greedy.name(i) for i in tokens.encode(text)]

    return [
        Answer(
            text,
            named(text),
            german,
            [*named(german), "<eos>"],
            None if n else opening(translator, text),
        )
        for n, (text, german) in enumerate(
            zip(texts, greedy.translate(texts), strict=True)
        )
    ]


def opening(
    translator: Translator, text: str, rivals: int = 5, width: int = 4
) -> dict[str, Any]:
    """What stands at the first sentence before anything is loaded.

    For each token that is written the likeliest tokens there, with their probabilities; where
    the likeliest is least probable; and step by step a beam: sentences with their
    log-probabilities, those that go on and those that are finished.
    """
    model, source = translator.model, torch.tensor([translator.encode(text, 1)])

    def line(ids: Sequence[int], log_p: float) -> tuple[str, float]:
        ends = {model.config.bos_id, model.config.eos_id}
        return translator.tokens.decode([i for i in ids if i not in ends]).strip(), min(
            round(log_p, 4), -1e-5 if log_p < 0 else 0.0
        )

    with inference(model):
        greedy, likely, surest = Search(model, source, 1, 0.0, None), [], []
        while greedy.sentences:
            before = greedy.cache.length
            logits = model.decode(
                greedy.ids[:, 0, : before + 1], model.encode(source), source
            )
            best = model.embedding.logits(logits)[0, -1].softmax(-1).topk(rivals)
            likely.append(
                [
                    (translator.name(i), _short(p))
                    for p, i in zip(*map(torch.Tensor.tolist, best), strict=True)
                ]
            )
            surest.append(best.values[0].item())
            greedy.step()
        search, frames = Search(model, source, width, 0.6, None), []
        while search.sentences:
            search.step()
            length = search.cache.length
            finished = [line(h.ids, h.log_probability) for h in search.finished[0]]
            going = zip(
                search.ids[:1].flatten(0, 1), search.log_p[:1].flatten(), strict=True
            )
            alive = [
                line(ids[1 : length + 1].tolist(), p.item())
                for ids, p in going
                if p.isfinite()
            ]
            frames.append({"alive": alive, "finished": finished})
    return {"rivals": likely, "at": surest.index(min(surest)), "beam": frames}


def _short(p: float) -> float:
    """A probability with three digits, or as a share that is not one."""
    return float(as_share(p, 4)) if p > 0.5 else float(f"{p:.3g}")

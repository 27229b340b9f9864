"""One web page of attention weights, which needs nothing but itself."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from tested_transformer.shares import as_share

KINDS = {
    "cross": "From the translation to the source",
    "encoder": "Within the source",
    "decoder": "Within the translation",
}
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 0 auto; padding: 1rem; }
.heads { display: flex; flex-wrap: wrap; gap: 1.5rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .8rem; }
caption { text-align: left; font-weight: 600; }
th { font-weight: 400; white-space: pre; padding: 0 .3rem; text-align: right; }
thead th { writing-mode: vertical-rl; text-align: left; padding: .3rem 0; }
td { width: 2rem; min-width: 2rem; height: 1.5rem; text-align: center; }
summary { cursor: pointer; margin: .5rem 0; }
"""


class Seen(NamedTuple):
    """A sentence, its translation, the tokens of both, and the attention weights."""

    sentence: str
    translation: str
    source: list[str]
    target: list[str]
    weights: dict[str, Float[Tensor, "L H Tq Tk"]]


def attention_page(sentences: Sequence[Seen], of: int = 0) -> str:
    """HTML with one table for each kind, layer and head. Rows look, columns are seen.

    Where these are not all, of says how many there were.
    """
    few = f" Shown are {len(sentences)} of {of:,} sentences."
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Attention</title><style>{STYLE}</style></head><body>"
        "<h1>Attention</h1><p>Each row is one token that looks, each column one that it"
        " may look at. The numbers are percent, and each row adds up to"
        " 100, but for rounding: 0 is less than a half, and 100 the whole."
        f"{few if len(sentences) < of else ''}</p>"
        f"{''.join(map(section, sentences))}</body></html>\n"
    )


def section(seen: Seen) -> str:
    """One sentence: its three kinds of attention, layer by layer."""
    tokens = {"source": seen.source, "target": seen.target}
    sides = {"cross": "target source", "encoder": "source source"}
    parts = [f"<h2>{shown(seen.sentence)}</h2><p>{shown(seen.translation)}</p>"]
    for kind, title in KINDS.items():
        queries, keys = (tokens[s] for s in sides.get(kind, "target target").split())
        for layer, heads in enumerate(seen.weights[kind].tolist(), start=1):
            opened = " open" if kind == "cross" and layer == 1 else ""
            tables = [
                table(f"head {n}", weights, queries, keys)
                for n, weights in enumerate(heads, start=1)
            ]
            parts.append(f"<details{opened}><summary>{title}, layer {layer}</summary>")
            parts.append(f'<div class="heads">{"".join(tables)}</div></details>')
    return "".join(parts)


def table(
    name: str, weights: list[list[float]], queries: list[str], keys: list[str]
) -> str:
    """One head: the weights as percent on a colour that is as strong as they are."""
    head = "".join(f'<th scope="col">{shown(key)}</th>' for key in keys)
    rows = []
    for query, row in zip(queries, weights, strict=True):
        cells = "".join(
            f'<td style="background:rgb(59 111 182/{0.8 * w:.2f})">{as_share(100 * w, 0, 100)}</td>'
            for w in row
        )
        rows.append(f'<tr><th scope="row">{shown(query)}</th>{cells}</tr>')
    return (
        f'<div class="scroll"><table><caption>{name}</caption><thead><tr><td></td>{head}'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def shown(text: str) -> str:
    """Text as it may stand in HTML, which knows no character 0."""
    return escape(text).replace("\0", "\ufffd")

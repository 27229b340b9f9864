"""Figures that "Attention Is All You Need" prints, and how calculated ones stand to them.

They stand here and nowhere else, as they are printed, each with its place in the paper.
"""

from collections.abc import Mapping
from math import ceil, floor
from typing import NamedTuple

from tested_transformer.book.show import Shown
from tested_transformer.checks import at_least


class Printed(NamedTuple):
    """A figure as the paper prints it and where, and the formula if it prints one."""

    digits: str
    where: str
    formula: str = ""


GIVEN = {
    "GPUs": Printed("8", "Section 5.2"),
    "FLOPs a second of one GPU": Printed("9.5e12", "Section 6.1, footnote"),
    "base: steps": Printed("100000", "Section 5.2"),
    "big: steps": Printed("300000", "Section 5.2"),
    "tokens a step, on each side": Printed("25000", "Section 5.1"),
    "sentence pairs, English–German": Printed("4500000", "Section 5.1"),
    "base: BLEU": Printed("25.8", "Table 3"),
    "one head: BLEU": Printed("24.9", "Table 3, (A)"),
    "base: perplexity": Printed("4.92", "Table 3"),
    "no smoothing: perplexity": Printed("4.67", "Table 3, (D)"),
    "smoothing 0.2: perplexity": Printed("5.47", "Table 3, (D)"),
    "big: BLEU, English–German": Printed("28.4", "Table 2"),
    "best ensemble before: BLEU, English–German": Printed("26.36", "Table 2"),
    "big: BLEU, English–French in Table 2": Printed("41.8", "Table 2"),
    "best single model before: FLOPs": Printed("1.2e20", "Table 2"),
    "minutes between two checkpoints": Printed("10", "Section 6.1"),
    "base: checkpoints averaged": Printed("5", "Section 6.1"),
    "big: checkpoints averaged": Printed("20", "Section 6.1"),
}
"""Figures that a calculation starts from."""

PUBLISHED = {
    "mean of q · k": Printed("0", "Section 3.2.1"),
    "variance of q · k, over the width": Printed("1", "Section 3.2.1", "d_k"),
    "base: width of a head": Printed("64", "Section 3.2.2"),
    "shortest wavelength, over 2π": Printed("1", "Section 3.5"),
    "longest wavelength, over 2π": Printed("10000", "Section 3.5"),
    "self-attention: operations, n doubled": Printed("4", "Table 1", "n² · d"),
    "self-attention: operations, d doubled": Printed("2", "Table 1", "n² · d"),
    "recurrent: operations, n doubled": Printed("2", "Table 1", "n · d²"),
    "recurrent: operations, d doubled": Printed("4", "Table 1", "n · d²"),
    "convolution: operations, n doubled": Printed("2", "Table 1", "k · n · d²"),
    "convolution: operations, d doubled": Printed("4", "Table 1", "k · n · d²"),
    "convolution: operations, k doubled": Printed("2", "Table 1", "k · n · d²"),
    "restricted: operations, n doubled": Printed("2", "Table 1", "r · n · d"),
    "restricted: operations, d doubled": Printed("2", "Table 1", "r · n · d"),
    "restricted: operations, r doubled": Printed("2", "Table 1", "r · n · d"),
    "self-attention: steps in sequence, n doubled": Printed("1", "Table 1", "1"),
    "recurrent: steps in sequence, n doubled": Printed("2", "Table 1", "n"),
    "convolution: steps in sequence, n doubled": Printed("1", "Table 1", "1"),
    "restricted: steps in sequence, n doubled": Printed("1", "Table 1", "1"),
    "self-attention: longest path, n doubled": Printed("1", "Table 1", "1"),
    "recurrent: longest path, n doubled": Printed("2", "Table 1", "n"),
    "convolution: layers more, n times k": Printed("1", "Table 1", "log_k(n)"),
    "contiguous convolution: longest path, n doubled": Printed(
        "2", "Section 4", "n / k"
    ),
    "restricted: longest path, n doubled": Printed("2", "Table 1", "n / r"),
    "n from which recurrence has fewer operations, over d": Printed("1", "Section 4"),
    "base: seconds a step": Printed("0.4", "Section 5.2"),
    "base: hours": Printed("12", "Section 5.2"),
    "big: seconds a step": Printed("1.0", "Section 5.2"),
    "big: days": Printed("3.5", "Section 5.2"),
    "step with the highest learning rate": Printed("4000", "Section 5.3"),
    "Adam: β₁": Printed("0.9", "Section 5.3"),
    "Adam: β₂": Printed("0.98", "Section 5.3"),
    "Adam: ε": Printed("1e-9", "Section 5.3"),
    "base: dropout": Printed("0.1", "Section 5.4"),
    "label smoothing": Printed("0.1", "Section 5.4"),
    "big: BLEU above the best before": Printed("2.0", "Section 6.1"),
    "big: BLEU, English–French": Printed("41.0", "Section 6.1"),
    "beam search: size of the beam": Printed("4", "Section 6.1"),
    "beam search: length penalty α": Printed("0.6", "Section 6.1"),
    "output: tokens more than the input": Printed("50", "Section 6.1"),
    "base: training FLOPs": Printed("3.3e18", "Table 2"),
    "big: training FLOPs": Printed("2.3e19", "Table 2"),
    "one head: BLEU below the best": Printed("0.9", "Section 6.2"),
    "base: million parameters": Printed("65", "Table 3"),
    "(A) h=1: width of a head": Printed("512", "Table 3"),
    "(A) h=4: width of a head": Printed("128", "Table 3"),
    "(A) h=16: width of a head": Printed("32", "Table 3"),
    "(A) h=32: width of a head": Printed("16", "Table 3"),
    "(B) d_k=16: million parameters": Printed("58", "Table 3"),
    "(B) d_k=32: million parameters": Printed("60", "Table 3"),
    "(C) N=2: million parameters": Printed("36", "Table 3"),
    "(C) N=4: million parameters": Printed("50", "Table 3"),
    "(C) N=8: million parameters": Printed("80", "Table 3"),
    "(C) d_model=256: width of a head": Printed("32", "Table 3"),
    "(C) d_model=256: million parameters": Printed("28", "Table 3"),
    "(C) d_model=1024: width of a head": Printed("128", "Table 3"),
    "(C) d_model=1024: million parameters": Printed("168", "Table 3"),
    "(C) d_ff=1024: million parameters": Printed("53", "Table 3"),
    "(C) d_ff=4096: million parameters": Printed("90", "Table 3"),
    "big: dropout": Printed("0.3", "Table 3"),
    "big: million parameters": Printed("213", "Table 3"),
}
"""Figures that can be recalculated.

Where the paper prints a rate of growth, digits are the factor that follows from it.
"""


SETTINGS = frozenset(
    {
        "Adam: β₁",
        "Adam: β₂",
        "Adam: ε",
        "base: dropout",
        "big: dropout",
        "label smoothing",
        "step with the highest learning rate",
        "beam search: size of the beam",
        "beam search: length penalty α",
        "output: tokens more than the input",
    }
)
"""Published figures that the package took over: only a typing error could set them apart."""


def printed(name: str) -> float:
    """The figure of that name, given or published, as a number."""
    return float((GIVEN | PUBLISHED)[name].digits)


def half_a_step(digits: str) -> float:
    """Half a unit in the last place: as far off as a rounded number may be."""
    mantissa, _, power = digits.partition("e")
    places = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(power or 0) - places)


def verdict(value: float, digits: str) -> str:
    """How a calculated value stands to printed digits: equal, rounds to, or differs.

    Equal leaves nothing but the rounding noise of float64.
    """
    apart = abs(value - float(digits))
    if apart <= 1e-9 * abs(value):
        return "equal"
    return "rounds to" if apart <= half_a_step(digits) else "differs"


def judged(name: str, value: float) -> str:
    """The verdict on a published figure; a setting that is equal was set to it."""
    says = verdict(value, PUBLISHED[name].digits)
    return "set to it" if name in SETTINGS and says == "equal" else says


def vocabulary_sizes(published: str, d_model: int, others: int) -> range:
    """All V with which V · d_model + others rounds to the published millions.

    V counts the rows of the embedding table, others all parameters outside it.
    """
    at_least(1, d_model=d_model, others=others)
    middle, half = float(published) * 1e6, half_a_step(published) * 1e6
    first = ceil((middle - half - others) / d_model)
    return range(first, floor((middle + half - others) / d_model) + 1)


def ledger(found: Mapping[str, float], place: str = "") -> Shown:
    """A table of published and recalculated figures with the verdict for each.

    `place` picks part of the paper, Table 3 for example. Every published figure needs a
    recalculated one, and the other way round.
    """
    rows = {name: row for name, row in PUBLISHED.items() if row.where.startswith(place)}
    if not rows:
        raise ValueError(f"place ({place!r}) must be where a published figure stands")
    if unknown := found.keys() - PUBLISHED.keys():
        raise ValueError(f"{sorted(unknown)} must be among the published figures")
    if missing := rows.keys() - found.keys():
        raise ValueError(f"{sorted(missing)} must be recalculated, too")
    table = [("figure", "paper", "ours", "verdict", "where")]
    for name, (digits, where, formula) in rows.items():
        says = judged(name, found[name])
        exact = says in ("equal", "set to it")
        number = _written(found[name], digits, more=0 if exact else 2)
        paper = (
            f"{formula}, so {digits}" if formula else _written(float(digits), digits)
        )
        table.append((name, paper, number, says, where))
    return Shown(_text(table), markdown=_markdown(table))


RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _written(value: float, digits: str, more: int = 0) -> str:
    """A value with as many places as digits has, or more; a power of ten as a power."""
    mantissa, _, power = digits.partition("e")
    places = len(mantissa.partition(".")[2]) + more
    if not power:
        return f"{value:,.{places}f}"
    number, _, power = f"{value:.{places}e}".partition("e")
    return f"{number} · 10{str(int(power)).translate(RAISED)}"


def _text(table: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    ]
    return "\n".join(line.rstrip() for line in lines)


def _markdown(table: list[tuple[str, ...]]) -> str:
    head, *rows = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([head, "|:--|--:|--:|:--|:--|", *rows])

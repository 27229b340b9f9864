"""Numbers as text: shares of a whole, numbers of a table, counts.

The scripts of the pages write them alike, in book/_static/figures/common.js.
"""

import math
from typing import SupportsFloat

THIN = "\u202f"
"""The space between thousands, at which no line breaks."""

POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def as_share(
    share: SupportsFloat, digits: int, whole: int = 1, *, signs: bool = False
) -> str:
    """A share, rounded; yet only the whole is written as the whole, and only nothing as "0".

    What would be rounded up to the whole gets more decimals, four at most, and is cut off there:
    0.996, 0.9999. With `signs`, where a number has room, what would be rounded to nothing gets them,
    too: 0.0004, and then "< 0.0001"; without, it keeps its decimals: 0.00. The share has the unit
    of `whole`, which is 100 for percent.
    """
    x = float(share)
    if x <= 0 or x >= whole:
        return str(whole) if x > 0 else "0"
    most = max(digits, 4 if whole == 1 else 2)
    texts = [f"{x:.{n}f}" for n in range(digits, most + 1)]
    if not signs and float(texts[0]) == 0:
        return texts[0]
    fitting = (text for text in texts if 0 < float(text) < whole)
    least = 10.0**-most
    last = f"{whole - least:.{most}f}" if 2 * x > whole else f"< {least:.{most}f}"
    return next(fitting, last)


def written(value: SupportsFloat, places: int) -> str:
    """A number with its decimals; a zero is seen at once among numbers that have decimals."""
    x = float(value)
    sign = "−" if x < 0 else ""
    size = abs(x)
    if not math.isfinite(x):
        return f"{sign}∞"
    if size <= 1e-10:
        return "0"
    if size >= 1e6:
        power = f"{size:.2e}".partition("e")[2]
        over = size / float(f"1e{power}")
        return f"{sign}{over:.2f} · 10{str(int(power)).translate(POWERS)}"
    text = f"{size:,.{places}f}".replace(",", THIN)
    return text if float(text.replace(THIN, "")) == 0 else sign + text


def counted(number: int) -> str:
    """A whole number, however large, with spaces between its thousands."""
    return f"{number:,}".replace(",", THIN).replace("-", "−")

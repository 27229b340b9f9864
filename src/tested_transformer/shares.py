"""Shares of a whole as text: probabilities, weights, percentages."""

from typing import SupportsFloat


def as_share(
    share: SupportsFloat, digits: int, whole: int = 1, *, signs: bool = False
) -> str:
    """A share, rounded; yet only the whole is written as the whole, and only nothing as "0".

    What would be rounded up to the whole is the largest number of these digits below it:
    0.99. What would be rounded to nothing keeps its decimals: 0.00. With `signs`, where a
    number stands alone and has room, these are "> 0.99" and "< 0.01". The share has the unit of
    `whole`, which is 100 for percent.
    """
    x = float(share)
    if x <= 0:
        return "0"
    if x >= whole:
        return str(whole)
    least = 10.0**-digits
    text = f"{x:.{digits}f}"
    if float(text) >= whole:
        return "> " * signs + f"{whole - least:.{digits}f}"
    if signs and float(text) == 0:
        return f"< {least:.{digits}f}"
    return text

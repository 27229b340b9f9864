"""Checkers for the chapters' exercises: they run your function and say which property fails, and where."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Report:
    """The verdict of a checker: `solved`, and one line for each thing that was looked at."""

    solved: bool
    lines: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(self.lines)


def check(
    candidate: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Iterable[tuple[Any, ...]],
    laws: Mapping[str, Callable[..., bool]] | None = None,
) -> Report:
    """Hold your function against the book's on every case, after the laws that its result must keep.

    A law is a sentence and a test `law(result, *case) -> bool`. A function that returns None is not written yet.
    """
    results = []
    for case in (cases := list(cases)):
        try:
            results.append(candidate(*case))
        except Exception as error:  # whatever the reader's code raises is told, not thrown
            return Report(False, (f"it runs: no, {type(error).__name__}: {error}",))
    if all(result is None for result in results):
        return Report(False, ("not written yet: the function returns None",))
    lines = ["it runs: yes"]
    for law, holds in (laws or {}).items():
        lines.append(f"{law}: {_verdict(_holds(holds, results, cases))}")
    lines.append(f"equals the book's function: {_compared(results, [reference(*case) for case in cases])}")
    return Report(all(line.endswith(": yes") for line in lines), tuple(lines))


def check_test(
    test: Callable[[Callable[..., Any]], bool], right: Callable[..., Any], broken: Callable[..., Any]
) -> Report:
    """Does your test tell a right function from a broken one? It takes a function and returns True if all is well."""
    if test(right) is None:
        return Report(False, ("not written yet: the test returns None",))
    accepts, rejects = bool(test(right)), not test(broken)
    lines = (f"it accepts the right function: {_verdict(accepts)}", f"it rejects the broken one: {_verdict(rejects)}")
    return Report(accepts and rejects, lines)


def _verdict(holds: bool) -> str:
    return "yes" if holds else "no"


def _holds(law: Callable[..., bool], results: list[Any], cases: list[tuple[Any, ...]]) -> bool:
    """A result that a law cannot even read does not keep it."""
    try:
        return all(law(result, *case) for result, case in zip(results, cases, strict=True))
    except (TypeError, ValueError, IndexError, AttributeError):
        return False


def _compared(results: list[Any], expected: list[Any]) -> str:
    """Yes, or what share of the values is right in the first case that differs, and the first wrong place."""
    for got, want in zip(results, expected, strict=True):
        try:
            got = np.asarray(got, dtype=float)
        except (TypeError, ValueError):
            return "no, it is not an array of numbers"
        want = np.asarray(want, dtype=float)
        if got.shape != want.shape:
            return f"no, its shape is {got.shape} and should be {want.shape}"
        right = np.isclose(got, want, rtol=1e-9, atol=1e-12)
        if not right.all():
            at = tuple(int(i) for i in np.argwhere(~right)[0])
            place = f"first difference at {list(at)}: {got[at]:.4f}, not {want[at]:.4f}"
            return f"no, {100 * right.mean():.0f} % of the values are right; {place}"
    return "yes"

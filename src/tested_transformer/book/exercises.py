"""Checkers for the chapters' exercises: they run your function and say which property fails, and where."""

import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
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

    A law is a sentence and a test `law(result, *case) -> bool`. A function that returns None is not written yet. Two
    common slips are named: a tuple where one array is wanted, and a missing `keepdims`.
    """
    results, cases = [], list(cases)
    if not cases:
        raise ValueError("check needs at least one case")
    for case in cases:
        mine = deepcopy(case)  # the reader's code may change what it is given
        try:
            results.append(candidate(*mine))
        except Exception as error:  # whatever it raises is told, not thrown
            said = f"{type(error).__name__}: {error}".strip()
            return Report(False, (f"it runs: no, {said}{_hint(error)}",))
    if all(result is None for result in results):
        return Report(False, ("not written yet: the function returns None",))
    lines, expected = ["it runs: yes"], [reference(*case) for case in cases]
    for got, want in zip(results, expected, strict=True):
        if isinstance(got, tuple) and _several(got, want):
            slip = f"no, you returned a tuple of {len(got)}; return the output alone"
            return Report(False, (*lines, f"equals the book's function: {slip}"))
    read = [
        _numbers(x) if hasattr(x, "detach") else x for x in results
    ]  # laws are NumPy's
    for law, holds in (laws or {}).items():
        lines.append(f"{law}: {_verdict(_holds(holds, read, cases))}")
    lines.append(f"equals the book's function: {_compared(results, expected)}")
    return Report(all(line.endswith(": yes") for line in lines), tuple(lines))


def check_test(
    test: Callable[[Callable[..., Any]], bool],
    right: Callable[..., Any],
    broken: Callable[..., Any],
) -> Report:
    """Does your test tell a right function from a broken one? It takes a function and returns True if all is well.

    A test that raises an error has not said that all is well, and one that fails on the right function in such a way
    says nothing of the broken one.
    """
    try:
        verdict = test(right)
    except Exception as error:
        said = f"no, {type(error).__name__}: {error}"
        return Report(False, (f"it accepts the right function: {said}",))
    if verdict is None and _raises(test, broken):
        rule = "it returns None: let it end with return True"
        return Report(False, (f"it accepts the right function: no, {rule}",))
    if verdict is None:
        return Report(False, ("not written yet: the test returns None",))
    accepts = _verdict(bool(verdict))
    rejects = _verdict(not _holds(test, [broken], [()]))
    lines = (
        f"it accepts the right function: {accepts}",
        f"it rejects the broken one: {rejects}",
    )
    return Report(accepts == rejects == "yes", lines)


def _raises(test: Callable[..., Any], candidate: Callable[..., Any]) -> bool:
    try:
        test(candidate)
    except Exception:
        return True
    return False


def _verdict(holds: bool) -> str:
    return "yes" if holds else "no"


def _holds(
    law: Callable[..., bool], results: list[Any], cases: list[tuple[Any, ...]]
) -> bool:
    """A result that a law cannot even read does not keep it."""
    try:
        return all(
            law(result, *case) for result, case in zip(results, cases, strict=True)
        )
    except Exception:
        return False


def _several(got: tuple[Any, ...], want: Any) -> bool:
    """Is this tuple more than the numbers of one output, written down as a tuple?"""
    if isinstance(want, tuple):
        return False
    try:
        return _numbers(got).shape != _numbers(want).shape
    except (TypeError, ValueError):
        return True


def _hint(error: Exception) -> str:
    """What to do where NumPy cannot broadcast because one array has lost an axis of the other."""
    shapes = re.findall(r"\(([\d,]*)\)", str(error))
    if "broadcast" not in str(error) or len(shapes) != 2:
        return ""
    sizes = [tuple(map(int, re.findall(r"\d+", shape))) for shape in shapes]
    short, long = sorted(sizes, key=len)
    if short not in [long[:i] + long[i + 1 :] for i in range(len(long))]:
        return ""
    return f"; if a sum, mean or max gave the {short}, keepdims=True keeps its axis"


def _compared(results: list[Any], expected: list[Any]) -> str:
    """Yes, or what share of the values is right in the first case that differs, and the first wrong place."""
    for got, want in zip(results, expected, strict=True):
        try:
            got = _numbers(got)
        except (TypeError, ValueError):
            return "no, it is not an array of numbers"
        want = _numbers(want)
        if got.shape != want.shape:
            return f"no, its shape is {got.shape} and should be {want.shape}"
        right = np.isclose(got, want, rtol=1e-9, atol=1e-12)
        if not right.all():
            at = tuple(int(i) for i in np.argwhere(~right)[0])
            share = 100 * int(right.sum()) // right.size  # never 100 by rounding
            digits = 4 if f"{got[at]:.4f}" != f"{want[at]:.4f}" else 12
            where = f" at {list(at)}" if at else ""
            values = f"{got[at]:.{digits}f}, not {want[at]:.{digits}f}"
            place = f"first difference{where}: {values}"
            return f"no, {share} % of the values are right; {place}"
    return "yes"


def _numbers(x: Any) -> np.ndarray:
    """Numbers as an array; a tensor is taken out of its graph first."""
    return np.asarray(x.detach() if hasattr(x, "detach") else x, dtype=float)

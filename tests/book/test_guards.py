"""Every guard is seen failing: small notebooks with one planted fault each, and the same without it."""

import json
import os
import re
import shutil
import subprocess
import sys

import guards
import jaxtyping
import notebooks
import numpy as np
import pytest
import typechecker
from beartype.roar import BeartypeCallHintViolation
from cells import code, displayed, markdown, printed, result
from guards import ROOT
from helpers import normal, unchecked
from jaxtyping import Float

from tested_transformer.book.figures.interactive import Interactive
from tested_transformer.book.show import matrix, show
from tested_transformer.byhand.linear import linear, linear_backward

# Normal form


def test_a_notebook_in_order_has_no_faults(write):
    raised = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    page = write(
        markdown("# Title"),
        code("1 + 1", printed("2\n")),
        code("raise ValueError", raised, tags=["raises-exception"]),
        code("x = 'a;b'  # NBVALUE;x"),
    )
    assert notebooks.faults(page) == []


FAULTS = {
    "a wrong count": ([code("1", count=2)], "execution count 2, but run from the top it is 1"),
    "a stored error": (
        [code("1 / 0", {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "oh", "traceback": []})],
        "stores the error ZeroDivisionError: oh",
    ),
    "a warning on stderr": ([code("1", printed("careful", name="stderr"))], "writes to stderr"),
    "a semicolon at the end": ([code("plot();\n")], "ends with a semicolon"),
    "an empty cell": ([markdown("  ")], "empty"),
    "a tag that skips": ([code("1", tags=["nbval-skip"])], "excused from comparison"),
    "an old tag that ignores": ([code("1", tags=["pytest-validate-ignore-output"])], "excused from comparison"),
    "a comment that ignores": ([code("# NBVAL_IGNORE_OUTPUT\n1")], "excused from comparison"),
    "an old comment that ignores": ([code("#PYTEST_VALIDATE_IGNORE_OUTPUT\n1")], "excused from comparison"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_normal_form_excludes(write, fault):
    cells, words = FAULTS[fault]
    (found,) = notebooks.faults(write(*cells))
    assert words in found
    assert found.startswith("page.ipynb, cell 0: ")


def test_normal_form_excludes_a_cell_that_was_never_run(write):
    page = write(code("1"), code("2"))
    page.write_text(page.read_text().replace('"execution_count": 2', '"execution_count": null'))
    assert notebooks.faults(page) == ["page.ipynb, cell 1: execution count None, but run from the top it is 2"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"metadata": {}', '"metadata": {"collapsed": false}'),
        ('"nbformat_minor": 5', '"nbformat_minor": 4'),
        ('"name": "python3"', '"name": "my-env"'),
        (' "cells"', '  "cells"'),
        ('"2\\n"', '"2", "\\n"'),
    ],
    ids=["more metadata", "an older format", "another kernel", "other spaces", "split lines"],
)
def test_normal_form_is_one_form(write, right, wrong):
    page = write(code("1 + 1", printed("2\n")))
    text = page.read_text()
    page.write_text(text.replace(right, wrong, 1))
    assert page.read_text() != text
    assert notebooks.faults(page) == ["page.ipynb: not as make fix CHAPTERS=book/page.ipynb writes it"]


@pytest.mark.parametrize(
    ("tag", "folded"),
    [
        ("hide-cell", {"cellView": "form", "jupyter": {"outputs_hidden": True, "source_hidden": True}}),
        ("hide-output", {"jupyter": {"outputs_hidden": True}}),
    ],
)
def test_normal_form_folds_what_the_page_folds_and_forgets_the_order_of_keys(write, tag, folded):
    cell = code("f()", printed("2\n"), displayed(text_plain="3\n4", image_svg="<a>\n</a>"), tags=[tag])
    text = write(cell).read_text()
    (kept,) = json.loads(text)["cells"]
    assert kept["metadata"] == {"tags": [tag]} | folded
    assert kept["outputs"][1]["data"] == {"text/plain": ["3\n", "4"], "image/svg+xml": ["<a>\n", "</a>"]}
    turned = dict(reversed(cell.items())) | {"outputs": [dict(reversed(output.items())) for output in cell["outputs"]]}
    assert notebooks.normal({"cells": [turned]}) == text


def test_the_command_says_what_is_wrong_and_fails(write, capsys):
    assert notebooks.main(["check", str(write(code("1")))]) == 0
    assert notebooks.main(["check", str(write(code("1;")))]) == 1
    assert "semicolon" in capsys.readouterr().out
    assert notebooks.main([]) == notebooks.main(["sing"]) == 2


@pytest.mark.parametrize("name", ["attention", "attention.ipynb", "book/attention.ipynb"])
def test_a_chapter_can_be_named_by_its_name(name):
    assert notebooks.chapter(name).samefile(notebooks.BOOK / "attention.ipynb")


@pytest.mark.parametrize("name", ["book", "book/nosuch.ipynb", "book/glossary.md", ""])
def test_what_is_no_chapter_is_told_and_nothing_runs(name, capsys):
    assert notebooks.main(["run", "book/attention.ipynb", name]) == 2
    assert capsys.readouterr().out == f"{name} is no chapter: name a notebook, as in book/attention.ipynb\n"


# Matrices, pictures, source


@pytest.mark.parametrize("kind", ["bmatrix", "matrix", "array"])
def test_a_typed_matrix_of_numbers_is_found_and_one_of_symbols_is_not(write, kind):
    columns = "{rr}" if kind == "array" else ""
    typed = rf"\begin{{{kind}}}{columns} 6 & 2 \\ 1 & 1 \end{{{kind}}}"
    (found,) = guards.typed_matrices(write(markdown("$$", f"QK = {typed}", "$$")))
    assert found.startswith("page.ipynb: a matrix typed by hand: ")
    symbols = typed.replace("6", "x_{11}").replace("2", "x_2^{10}").replace("1 & 1", r"\cos a & b")
    assert guards.typed_matrices(write(markdown(f"${symbols}$"))) == []
    assert guards.typed_matrices(write(markdown("```latex", typed, "```"), code(f"r'{typed}'"))) == []


def test_a_picture_needs_words(write):
    words = "One two three four five six seven eight."
    for alt, found in ((words, 0), ("A picture.", 1), ("", 1)):
        page = write(code("figures()", displayed(image_svg="AAAA"), mystnb={"image": {"alt": alt}}))
        assert len(guards.pictures_without_words(page)) == found
    assert len(guards.pictures_without_words(write(code("figures()", displayed(image_svg="AAAA"))))) == 1
    assert guards.pictures_without_words(write(code("1", displayed(text_plain="1")))) == []
    assert len(guards.pictures_without_words(write(markdown("![](a.png)")))) == 1
    assert len(guards.pictures_without_words(write(markdown("![a](a.png) ![ ](b.png)")))) == 1
    assert guards.pictures_without_words(write(markdown("![a bar](a.png) `![](b.png)`"))) == []


def test_an_interactive_figure_needs_words_a_table_and_a_script(write):
    good = Interactive("attention", {"words": ["://"]}, {"Title": (["a"], ["b"], [[1]])})._repr_html_()
    figure = {"name": "fig-page-it", "caption": "A caption."}

    def found(html, figure=figure):
        cell = code("figures()", displayed(text_html=html), mystnb={"figure": figure})
        return guards.interactive_without_words(write(cell))

    assert found(good.replace("://", "")) == []
    for html, figure_, words in (
        (good, figure, "names another host"),
        (good.replace("://", ""), {"name": "fig-page-it"}, "without a caption"),
        (good.replace("://", ""), {"name": "fig-other-it", "caption": "A."}, "begins with fig-page-"),
        (good.replace("://", "").replace("table", "div"), figure, "without a table"),
        (good.replace("://", "").replace("attention", "absent"), figure, "no script figures/absent.js"),
        (good.replace("://", "").replace(' type="application/json"', ""), figure, "only data"),
    ):
        (one,) = found(html, figure_)
        assert words in one


def test_shown_source_must_be_the_real_one(write):
    page = write(code("show(linear)", result(show(linear))), code("matrix('x', 1)", result(matrix("x", 1))))
    assert [name for name, _ in guards.shown(page)] == ["tested_transformer.byhand.linear.linear"]
    assert guards.source_that_is_not_real(page) == []
    changed = result(show(linear))
    changed["data"]["text/markdown"] = changed["data"]["text/markdown"].replace("w.T", "w")
    assert guards.source_that_is_not_real(write(code("show(linear)", changed))) == [
        "page.ipynb: tested_transformer.byhand.linear.linear is shown as it no longer is"
    ]


@pytest.mark.parametrize("gone", ["linear.old_name", "no_such_module.linear", "linear.np.pi"])
def test_shown_source_must_still_exist(write, gone):
    output = result(show(linear))
    output["data"]["text/markdown"] = output["data"]["text/markdown"].replace("linear.linear", gone)
    assert guards.source_that_is_not_real(write(code("show(f)", output))) == [
        f"page.ipynb: tested_transformer.byhand.{gone} is shown, but does not exist"
    ]


@pytest.mark.parametrize("pasted", ["def f(x):", "class A:", "class A(B):", "    def f(self):"])
def test_code_pasted_into_the_text_is_found(write, pasted):
    (found,) = guards.source_that_is_not_real(write(markdown("Look:", "```python", pasted, "```")))
    assert "code pasted into the text" in found
    assert guards.source_that_is_not_real(write(markdown("We", "define it:", "class by class, def is a word:"))) == []


def test_what_is_to_be_seen_and_stands_before_the_end_of_its_cell_is_found(write):
    seen = code("import x\n%time pass\ntable(a)"), code("f(a)\ndraw.gpt.hit(p)"), code("t = table(a)\nmatrix(b)")
    seen += (code("try:\n    table(a)\nexcept ValueError:\n    f()"),)  # refused
    assert list(guards.shows_nothing(write(*seen))) == []
    for line in ("matrix('A', a)", "figures.gpt.hit(p)", "show(f)"):
        for cell in (f"{line}\nassert a", f"for a in b:\n    {line}"):
            (found,) = guards.shows_nothing(write(code(cell)))
            assert found.startswith(f"page.ipynb: {line.split('(')[0]} is not the last thing")


# Links


def test_links_lead_somewhere(write, tmp_path):
    write(markdown("# Title", "## Why `x`, and $y$?", "## Again", "## Again"), name="other.ipynb")
    (tmp_path / "plain.md").write_text("# A page\n\n##### Too deep\n\n```python\n# Only code\n```\n", encoding="utf-8")
    (tmp_path / "a.png").write_text("")
    (tmp_path / "folder").mkdir()
    good = [
        "other.ipynb",
        "other.ipynb#why-x-and-",
        "other.ipynb#again-1",
        "plain.md#a-page",
        "https://a.org/b",
        "a.png",
    ]
    page = write(markdown("# Here", "[`f`](#here)", *(f"[to][{i}]({link})" for i, link in enumerate(good))))
    assert guards.broken_links(page) == []
    for bad, words in {
        "none.ipynb": "no file",
        "folder": "no file",
        "other.ipynb#here": "no heading",
        "none.ipynb#title": "no file",
        "other.ipynb#gone": "no heading",
        "other.ipynb#again-2": "no heading",
        "plain.md#too-deep": "no heading",
        "plain.md#only-code": "no heading",
        "#gone": "no heading",
    }.items():
        for link in (
            f"[a]({bad})",
            f"[see [1]]({bad})",
            f'[a]({bad} "title")',
            f"[a](<{bad}>)",
            f"[![a](a.png)]({bad})",
        ):
            assert guards.broken_links(write(markdown("# Here", link))) == [f"page.ipynb: {bad} leads to {words}"]
    assert guards.broken_links(write(markdown("![a bar](gone.png)"))) == ["page.ipynb: gone.png leads to no file"]
    assert guards.broken_links(write(markdown("`[a](gone.md)`", "```", "[a](gone.md)", "```"))) == []


def test_a_link_that_is_called_as_another_page_is_is_found(write):
    good = "[heads](heads.ipynb) [attention](backward.ipynb)", "[masks](heads.ipynb#here) [a](b.md)"
    assert guards.misled_links(write(markdown("# Here", *good, "`[heads](masks.ipynb)`"))) == []
    for words, page in {"heads": "heads.ipynb", "Decoding": "decode.ipynb", "Many machines": "machines.ipynb"}.items():
        fault = f"page.ipynb: {words} is {page}, and the link leads to masks.ipynb"
        assert guards.misled_links(write(markdown(f"See [{words}](masks.ipynb)."))) == [fault]


# What is only reported: code that is hard to read, and exercises

WORDS = markdown("word " * 400)
READABLE = [WORDS, *(code("x\n" * 4) for _ in range(9)), code("x\n" * 12)]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (READABLE, ""),
        ([WORDS], ""),
        ([markdown("word " * 32), code("x\n" * 4), code("x\n" * 4, tags=["hide-cell"])], ""),  # a solution is folded
        ([WORDS, code("class A:\n    pass")], "a class in a chapter"),
        ([WORDS, code("1"), code("x\n" * 5), code("x\n" * 5)], "the middle code cell has 5 lines"),
        ([WORDS, *(code("1") for _ in range(8)), code("x\n" * 13)], "1 of 9 code cells have more than 12 lines"),
        ([markdown("word " * 31), code("x\n" * 4)], "31 words for 4 lines of code"),
    ],
)
def test_a_chapter_is_hard_to_read_with(write, cells, words):
    found = guards.hard_to_read(write(*cells))
    assert len(found) == bool(words)
    assert all(words in fault for fault in found)


def test_code_wider_than_the_page_is_found(write):
    for width, found in ((88, 0), (89, 1)):
        line = "#" + "x" * (width - 1)
        output = result(show(linear))
        output["data"]["text/markdown"] = output["data"]["text/markdown"].replace("\n```", f"\n{line}\n```")
        assert len(guards.too_wide(write(markdown(line), code(f"f()\n{line}", output)))) == 3 * found


THREE = [f"**{title}** (5 minutes). ★★ Do it." for title in ("1. Predict, then see", "2. Implement", "3. Break it")]
MORE, BOTH = [f"**{n}. Try** (5 minutes). ★★★ Do it." for n in (4, 5, 6)], "check(f)\ncheck_test(g)"


@pytest.mark.parametrize(
    ("exercises", "calls", "lacking"),
    [
        (THREE, BOTH, []),
        ([*THREE, *MORE[:2]], BOTH, []),
        ([*THREE, *MORE], BOTH, ["6 exercises with a number"]),
        (THREE[:2], BOTH, ["2 exercises with a number", "no exercise of the kind Break it"]),
        ([THREE[0], *THREE[2:], MORE[0]], BOTH, ["3 exercises with a number", "no exercise of the kind Implement"]),
        (THREE, "check(f)", ["no exercise calls check_test()"]),
        ([*THREE, "**4. Try** (5 minutes). ★★★★ Do it."], BOTH, ["an exercise begins like '**1. Predict** (5 min"]),
        ([*THREE, "**4. Try** ★ (5 minutes). Do it."], BOTH, ["an exercise begins like '**1. Predict** (5 minutes)"]),
    ],
)
def test_an_exercise_that_is_missing_or_begins_in_another_way_is_found(write, exercises, calls, lacking):
    body, outside = "\n\n".join(exercises), "**4. Break it** (5 minutes). ★ Do it."
    path = write(markdown("## Exercises", "", body, "", "## Summary", "", outside), code(calls))
    for line, words in zip(guards.exercises_that_lack(path), lacking, strict=True):
        assert line.startswith(f"page.ipynb: {words}")


# nbval, with the patches of the conftest at the root


def picture(shade="c8", size=100, dot=50.0, word="7"):
    """A grey square with a word in it, as SVG."""
    ground = f'<rect x="0" y="0" width="{size}" height="{size}" fill="#{shade * 3}"/>'
    return f'<svg width="{size}" height="{size}">{ground}<text x="{dot}" y="50">{word}</text></svg>'


DRAW = f"display({{'image/svg+xml': {picture()!r}}}, raw=True)"


def verdicts(how, cells, write):
    """What nbval says of each cell, by name, and all that pytest prints."""
    page = write(*(cell for cell, _ in cells.values()))
    page.write_text(page.read_text().replace('"execution_count": 99', '"execution_count": null'))
    for needed in (ROOT / "conftest.py", ROOT / "tools" / "pictures.py", ROOT / "tools" / "kernels.py"):
        shutil.copy(needed, page.parent)
    # jsonschema, which nbval brings along, imports this slow module where it can and does without it where it cannot.
    (page.parent / "rfc3987_syntax.py").write_text("raise ImportError")
    alone = ["-p", "no:cacheprovider", "-p", "no:randomly"]
    command = [sys.executable, "-m", "pytest", how, "--nbval-current-env", "-rA", *alone, "."]
    run = subprocess.run(command, cwd=page.parent, capture_output=True, text=True, check=False)
    found = re.findall(r"^(PASSED|FAILED) page\.ipynb::Cell (\d+)", run.stdout, re.M)
    return {list(cells)[int(i)]: verdict for verdict, i in found}, run.stdout + run.stderr


def test_nbval_with_our_patches_lets_only_right_cells_pass(write):
    cells = {
        "right number": (code("print(1 + 1)", printed("2\n")), "PASSED"),
        "changed number": (code("print(1 + 1)", printed("3\n")), "FAILED"),
        "right picture": (code(DRAW, displayed(image_svg=picture())), "PASSED"),
        "picture with other last bits": (code(DRAW, displayed(image_svg=picture("c9", dot=50.03))), "PASSED"),
        "picture with a changed digit": (code(DRAW, displayed(image_svg=picture(word="1"))), "FAILED"),
        "picture of another size": (code(DRAW, displayed(image_svg=picture(size=101))), "FAILED"),
        "stored picture that is not drawn": (code("x = 0", displayed(image_svg=picture())), "FAILED"),
        "drawn picture that is not stored": (code(DRAW), "FAILED"),
        "tag that skips": (code("1", tags=["nbval-skip"]), "FAILED"),
        "comment that ignores": (code("# NBVAL_IGNORE_OUTPUT\nprint(1)", printed("2\n")), "FAILED"),
        "unrun cell": (code("x = 1", count=99), "FAILED"),
        "cell after all these": (code("print(x)", printed("1\n")), "PASSED"),
    }
    found, printed_out = verdicts("--nbval", cells, write)
    assert found == {name: verdict for name, (_, verdict) in cells.items()}, printed_out
    for words in (
        "the words of <text> 1",
        "the width of <svg>",
        "1 stored pictures, 0 new",
        "0 stored pictures, 1 new",
    ):
        assert words in printed_out
    for words in ("This cell was never run", "No cell is excused"):
        assert words in printed_out


def test_nbval_that_compares_nothing_still_fails_where_a_cell_does(write):
    cells = {
        "changed number": (code("print(1 + 1)", printed("3\n")), "PASSED"),
        "other picture": (code(DRAW, displayed(image_svg=picture(dot=60.0))), "PASSED"),
        "error": (code("1 / 0"), "FAILED"),
        "tag that skips": (code("1", tags=["nbval-skip"]), "FAILED"),
        "unrun cell": (code("x = 1", count=99), "FAILED"),
    }
    found, printed_out = verdicts("--nbval-lax", cells, write)
    assert found == {name: verdict for name, (_, verdict) in cells.items()}, printed_out


# Shapes


def test_a_wrong_shape_or_type_is_noticed_in_tests():
    with pytest.raises(BeartypeCallHintViolation, match=r"byhand\.linear\.linear_backward"):
        linear_backward(normal(2, 4), normal(2, 3), normal(4, 5))
    with pytest.raises(BeartypeCallHintViolation, match="parameter x"):
        linear(np.ones((2, 3), dtype=int), normal(4, 3))


def test_the_check_sees_arguments_results_and_types_and_each_call_has_letters_of_its_own():
    check = typechecker.jaxtyped(typechecker=typechecker.checked)

    @check
    def first(x: Float[np.ndarray, "N"], others: list[Float[np.ndarray, "N"]], n: int = 3) -> Float[np.ndarray, "N"]:
        return x[:n]

    @check
    def lengths(x: Float[np.ndarray, "N"]) -> tuple[int, Float[np.ndarray, "2 N"]]:
        return len(first(np.ones(3), [])), np.stack([x, x])

    @check
    def said(x: str) -> int:
        return x

    @check
    def named(n: int) -> Float[np.ndarray, "{n}"]:
        return np.ones(4)

    assert lengths(np.ones(5))[0] == 3
    assert len(named(4)) == 4
    for wrong in (
        lambda: first(np.ones(3), [np.ones(2)]),
        lambda: first(np.ones(3), [], 2),
        lambda: first(np.ones(3), [], 3.0),
        lambda: lengths(np.ones((5, 1))),
        lambda: said(1),
        lambda: said("1"),
        lambda: named(3),
    ):
        with pytest.raises((BeartypeCallHintViolation, jaxtyping.TypeCheckError)):
            wrong()
    with unchecked():
        assert said("1") == "1"
        assert len(first(np.ones(3), [np.ones(2)], 2)) == 2


def test_outside_of_tests_nothing_is_checked_and_nothing_is_paid():
    use = "linear(np.ones((2, 3), dtype=int), np.ones((4, 3), dtype=int))"
    program = (
        f"import sys, numpy as np; from tested_transformer.byhand.linear import linear; {use}; print(*sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert "beartype" not in run.stdout.split()
    assert "torch" not in run.stdout.split()


PICTURE = displayed(image_svg="AAAA\n")
INTERACTIVE = displayed(text_html="<walk-figure>x</walk-figure>")
CLAIM = code("assert a")


@pytest.mark.parametrize(
    ("cells", "lacking"),
    [
        ([code("figures()", PICTURE), CLAIM], 0),
        ([code("figures()\nassert a", PICTURE)], 0),
        ([code("figures()", INTERACTIVE), code("1"), markdown("Then"), code("2"), CLAIM], 0),
        ([code("figures()", PICTURE), CLAIM, code("figures()", INTERACTIVE), CLAIM], 0),
        ([code("print(2)", printed("2\n")), code("show()", displayed(text_html="<table></table>"))], 0),
        ([CLAIM, code("figures()", PICTURE)], 1),
        ([code("figures()", PICTURE), markdown("assert a")], 1),
        ([code("figures()", PICTURE), code("1  # assert a")], 1),
        ([code("figures()", PICTURE), code("figures()", INTERACTIVE), CLAIM], 1),
        ([code("figures()", INTERACTIVE), code("1"), code("2"), code("3"), CLAIM], 1),
    ],
)
def test_a_figure_that_no_assert_follows_is_found(write, cells, lacking):
    found = guards.figures_without_a_claim(write(*cells))
    assert len(found) == lacking
    assert all("holds what is said of the figure: figures()" in line for line in found)

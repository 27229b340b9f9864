"""The form of a chapter: a small one that keeps it, and each fault planted there."""

import form
import pytest
import tracing
from cells import code, displayed, markdown, printed

PNG = displayed(image_png="AAAA\n")
LATEX = displayed(text_latex="$$X$$")
SHOWN = displayed(text_markdown='**`a.f`**\n```python\ndef f(x):\n    """Say it."""\n    return np.tril(x)\n```\n')


def chapter(**other):
    """The cells of a chapter in good form, by name; others are put in their place, none with None."""
    cells = {
        "title": [markdown("# Title", "", "*Why?*")],
        "picture": [code("draw.a.b(x)", PNG)],
        "idea": [markdown("## An idea", "", "Words.")],
        "guess": [markdown("Before you look: which one is larger?")],
        "sight": [code('matrix("X", x)', LATEX), code("assert x")],
        "lines": [markdown("## In three lines", "", "1. One.", "2. Two.", "3. Three.")],
        "deeper": [markdown("## Going deeper", "", "For a second reading.")],
        "section": [markdown("### More", "", "Words."), code("y = 1")],
        "exercises": [markdown("## Exercises", "", "Words.")],
        "summary": [markdown("## Summary", "", "Words.")],
    }
    return [cell for name, found in cells.items() for cell in (other.get(name, found) or [])]


GUARDS = [form.over_budget, form.out_of_form, form.late_picture, form.unheld_guess, form.unnamed, form.house_words]


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.__name__)
def test_a_chapter_in_good_form_has_no_faults(write, guard):
    assert list(guard(write(*chapter(), name="heads.ipynb"))) == []


def test_checks_that_stand_open_are_found(write):
    both = code("y = x + 1\nassert y\nassert x"), code("assert y > 2\nprint(y)")  # y is asked for later
    faults = list(form.open_claims(write(*chapter(sight=both))))
    assert [fault.partition(": ")[2] for fault in faults] == ["2 claims stand open: 'y = x + 1\\nassert y\\nassert x'"]


# The lanes


@pytest.mark.parametrize(
    ("place", "cells", "found"),
    [
        ("idea", [markdown("word " * 1650)], ["words in the idea lane", "minutes in the idea lane"]),
        ("idea", [code("x = f()\nx")] * 19, []),
        ("idea", [code("x = f()\nx")] * 21, ["open cells in the idea lane"]),
        ("idea", [code("show(f)", SHOWN)] * 21, ["open cells in the idea lane"]),
        ("idea", [code("assert x")] * 30 + [code("import a")] * 30, []),
        ("idea", [code("a\n", tags=["hide-cell"])] * 30, []),
        ("idea", [code('matrix("X", x)', LATEX)] * 100, ["minutes in the idea lane"]),
        ("section", [markdown("### More"), *[code("x = f()\nx")] * 30], []),
        ("section", [markdown("### More", "word " * 2450)], []),
        ("section", [markdown("### More", "word " * 2550)], ["words without exercises"]),
        ("summary", [markdown("## Summary", "word " * 2550)], ["words without exercises"]),
        ("exercises", [markdown("## Exercises", "word " * 2550)], []),
    ],
)
def test_what_is_too_much_is_found(write, place, cells, found):
    path = write(*(dict(cell) for cell in chapter(**{place: cells})))
    assert [fault.partition(";")[0].split(" ", 2)[2] for fault in form.over_budget(path)] == found


def test_three_chapters_have_more_minutes(write):
    cells = chapter(idea=[markdown("word " * 1150), *(code(f'matrix("X", {i})', LATEX) for i in range(20))])
    assert "minutes" in form.over_budget(write(*cells))[0]
    assert form.over_budget(write(*cells, name="attention.ipynb")) == []


def test_the_list_of_letters_is_looked_up_and_takes_no_room(write):
    letters = [markdown("### Letters", "", "word " * 2600), markdown("### Else", "", "word " * 9)]
    assert form.over_budget(write(*chapter(section=letters), name="notation.ipynb")) == []
    assert form.over_budget(write(*chapter(section=letters), name="heads.ipynb")) != []


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"idea": None}, "its sections are not ideas"),
        ({"lines": None}, "its sections are not ideas"),
        ({"exercises": None}, "its sections are not ideas"),
        ({"summary": [markdown("## Summary"), markdown("## Last")]}, "its sections are not ideas"),
        ({"exercises": [markdown("## Summary")], "summary": [markdown("## Exercises")]}, "its sections are not ideas"),
        ({"idea": [markdown("## An idea"), markdown("## Summary")]}, "its sections are not ideas"),
        ({"section": [markdown("### More"), markdown("## An idea")]}, "its sections are not ideas"),
        ({"section": None}, "no section of the third level"),
        ({"deeper": [markdown("## Going deeper"), code("x")]}, "it would belong to none"),
        ({"lines": [markdown("## In three lines", "", "- One.", "- Two.")]}, "In three lines: a list of 2"),
        ({"lines": [markdown("## In three lines", "", "One, two, three.")]}, "In three lines: a list of 0"),
    ],
)
def test_what_the_lanes_lack_is_found(write, other, found):
    faults = list(form.out_of_form(write(*chapter(**other))))
    assert found in faults[0]
    assert len(faults) == 1 + (other == {"lines": None})


ASKED = [
    ("", "its sections are not ideas"),
    ("## Five questions on this part\n\n" + "{}" * 5, None),
    ("## Five questions on this part\n\n" + "{}" * 4, "4 questions, 4 answers that say where"),
    ("## Five questions on this part\n\n" + "{}" * 5 + "**6.** And?", "6 questions, 5 answers"),
    ("## Five questions on this part\n\n" + "{}" * 4 + "**5.** Why?\n\n{nowhere}", "5 questions, 4 answers"),
]


@pytest.mark.parametrize(("text", "found"), ASKED)
def test_a_part_ends_with_five_questions_and_where_their_answers_stand(write, text, found):
    fold = "<details><summary>Show the answer</summary>\n\n%s\n\n</details>\n\n"
    one = "**1.** Why?\n\n" + fold % "So. [A place](order.ipynb#a-place)"
    asked = text.replace("{}", one).replace("{nowhere}", fold % "So.")
    cells = chapter(exercises=[markdown("## Exercises", "", "Words."), *[markdown(asked)] * bool(text)])
    faults = list(form.out_of_form(write(*cells, name="order.ipynb")))
    assert [found in fault for fault in faults[:1]] == [True] * bool(found)
    if text:
        assert "its sections are not ideas" in next(form.out_of_form(write(*cells, name="heads.ipynb")))


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"title": [markdown("# Title", "word " * 118)]}, None),
        ({"title": [markdown("# Title", "word " * 121)]}, "122 words before the first picture; 120 fit"),
        ({"title": [markdown("# Title"), code('matrix("X", x)', LATEX)]}, "before the first picture stands 'matrix"),
        ({"title": [markdown("# Title"), code("x = f()")]}, "before the first picture stands 'x = f()'"),
        ({"title": [markdown("# Title"), code("import a"), code("x", tags=["remove-cell"])]}, None),
        ({"picture": [code("draw.a.b(x)", displayed(text_html="<b-figure>x</b-figure>"))]}, None),
        ({"picture": None, "sight": None, "section": None}, "no picture"),
    ],
)
def test_a_picture_that_comes_late_is_found(write, other, found):
    faults = form.late_picture(write(*chapter(**other)))
    assert len(faults) == (found is not None)
    assert all(found in fault for fault in faults)


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"guess": [markdown("Words.", "", "**Guess first.** Which one?", "", "More words.")]}, None),
        ({"sight": [code("x = 1"), code("assert f(x)\nprint(x)", printed("1\n"))]}, None),
        ({"guess": None}, 'begins with "Before you look" or "Guess first"'),
        ({"guess": None, "section": [markdown("### More", "", "Guess first: which?")]}, "of the idea lane"),
        ({"guess": [markdown("You guess first.")]}, "of the idea lane"),
        ({"sight": [code("assert x")]}, "no sight, or no assert, in the three cells after the guess 'Before you look"),
        ({"sight": [code('matrix("X", x)', LATEX)]}, "no sight, or no assert"),
        ({"sight": [code("x", LATEX), *[code("x")] * 2, code("assert x")]}, "no sight, or no assert"),
    ],
)
def test_a_guess_that_is_missing_or_not_answered_is_found(write, other, found):
    faults = list(form.unheld_guess(write(*(dict(cell) for cell in chapter(**other)))))
    assert len(faults) == (found is not None)
    assert all(found in fault for fault in faults)


# The words


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([code("np.tril(x)")], ["tril"]),
        ([code("y = x.cumsum(axis=0)")], ["cumsum"]),
        ([code("F.relu(torch.nn.Linear(2, 3)(x))")], ["Linear", "relu"]),
        ([code("show(f)", SHOWN)], ["tril"]),
        ([markdown("The function `np.tril` keeps what is below the diagonal."), code("np.tril(x)")], []),
        ([markdown("It is called tril."), code("np.tril(x)")], ["tril"]),
        ([markdown("```python\nnp.tril(x)\n```"), code("np.tril(x)")], ["tril"]),
        ([code("np.exp(x)")], ["exp"]),
        ([markdown("The exponential function $e^x$."), code("np.exp(x)")], []),
        ([markdown("```python\n# exponential function\n```"), code("np.exp(x)")], ["exp"]),
        ([code("np.sum(x), x.max(), np.abs(x), ' '.join(x), x.copy(), f(x), x.shape, own.calculate(x)")], []),
        (
            [code("assert np.tril(x)"), code("np.tril(x)", tags=["hide-cell"]), code('matrix("X", np.tril(x))', LATEX)],
            [],
        ),
    ],
)
def test_a_name_that_is_called_before_a_sentence_names_it_is_found(write, cells, found):
    path = write(*chapter(idea=[markdown("## An idea"), *cells]), name="heads.ipynb")
    said = "is called, and no sentence has named it, neither here nor earlier"
    assert list(form.unnamed(path)) == [f"heads.ipynb: {name} {said}" for name in found]


def test_a_name_may_have_been_named_on_an_earlier_page_but_not_on_a_later_one(write, tmp_path):
    path = write(*chapter(idea=[code("np.tril(x)")]), name="heads.ipynb")
    write(markdown("Call `np.tril(x)`."), name="encoder.ipynb")
    assert len(list(form.unnamed(path))) == 1
    (tmp_path / "index.md").write_text("Call `np.tril(x)`.", encoding="utf-8")
    assert list(form.unnamed(path)) == []


GLOSSARY = """```{glossary}
mixture (MX)
  A sum. See [heads](heads.ipynb#a).

mixture of mixtures
  Two sums. See [adam](adam.ipynb#a), and [masks](masks.ipynb).

zoo
  What is not at home anywhere.
```
"""


@pytest.mark.parametrize(
    ("name", "words", "found"),
    [
        ("masks", "A mixture is made.", ["mixture"]),
        ("masks", "An MX.", ["MX"]),
        ("masks", "A mixture of mixtures is made.", []),
        ("attention", "Mixture of mixtures, and mixture.", ["mixture of mixtures", "mixture"]),
        ("heads", "A mixture is made.", []),
        ("encoder", "A mixture is made.", []),
        ("masks", "A zoo, `mixture`, and a [mixture](heads.ipynb).", []),
        ("masks", "Mixtures, a sub-mixture.", []),
    ],
)
def test_a_term_before_its_home_is_found(write, tmp_path, monkeypatch, name, words, found):
    (tmp_path / "glossary.md").write_text(GLOSSARY, encoding="utf-8")

    def early(**other):
        path = write(*chapter(**other), name=f"{name}.ipynb")
        return [fault.partition(" is explained later")[0] for fault in form.early_terms(path, tmp_path / "glossary.md")]

    assert early(idea=[markdown("## An idea", "", words)]) == [f"{name}.ipynb: {term}" for term in found]
    assert early(section=[markdown("### More", "", words)]) == [f"{name}.ipynb: {term}" for term in found]
    assert early(title=[markdown("# Title", "", words)]) == []
    monkeypatch.setitem(form.LISTS, "early", dict.fromkeys(found, "a reason"))
    assert early(idea=[markdown("## An idea", "", words)]) == []


def test_the_front_page_may_use_every_term(write, tmp_path):
    (tmp_path / "glossary.md").write_text(GLOSSARY, encoding="utf-8")
    path = write(markdown("# Title", "## All", "A mixture."), name="index.ipynb")
    assert list(form.early_terms(path, tmp_path / "glossary.md")) == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("It is set in the open, and fails without a word.", ['"in the open"', '"without a word"']),
        ("Drawn by\nlot.", ['"by lot"']),
        ("It stays above the bar.", ['"above the bar"']),
        ("Mend it.", ['"Mend"']),
        ("`by lot`, in the opening, without a wordy title, the ballot, amended", []),
        ("Nobody knows. Whoever asks", ["Nobody and Whoever"]),
        ("Nobody knows.", []),
    ],
)
def test_a_private_word_is_found(write, words, found):
    faults = list(form.house_words(write(markdown(words))))
    assert [fault.removeprefix("page.ipynb: ").partition(":")[0] for fault in faults] == found


def test_every_private_word_has_another_and_every_excuse_a_reason():
    for words in form.LISTS.values():
        assert all(isinstance(said, str) and said for said in words.values())


# The letters


LETTERS = markdown(
    "## Letters",
    "",
    "| Letter | Meaning | Where |",
    "|:--|:--|:--|",
    "| $e$ | a number | everywhere |",
    "| $d_k$ | a width | everywhere |",
    r"| $Q$, $\sigma$ | two things | [Heads](heads.ipynb), [Masks](masks.ipynb) |",
    "| $k$ | a number | [Masks](masks.ipynb) |",
)


def letters(write, *cells, name="heads.ipynb", table=LETTERS):
    tracing.sections.cache_clear()
    notation = write(table, name="notation.ipynb")
    faults = form.letters_without_a_meaning(write(*cells, name=name), notation)
    return [fault.split()[1] for fault in faults], list(form.letters_with_two_meanings(notation))


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("$Q$ and $e^Q$ by $d_k$", []),
        (r"$$\frac{Q}{\sqrt{d_k}} + \sum_{e=1} \operatorname{softmax}(\hat Q^{\mathsf T})_e \text{ if } \max$$", []),
        (r"$\begin{array}{r|rr} 1 & \text{love} \\[0.6em] 2 \end{array} \sigma\mathrm{d}Q \in \mathbb{R}$", []),
        ("`$Z$` and Z and $1$", []),
        ("$k$", ["k"]),
        ("$d$ and $d_v$", ["d", "v"]),
        (r"$\varepsilon$, $\eta$, $\ell$ and $Z_{ij}$", ["Z", r"\ell", r"\eta", r"\varepsilon", "i", "j"]),
    ],
)
def test_a_letter_that_the_list_does_not_have_is_found(write, formula, found):
    assert letters(write, markdown(formula)) == (found, [])


def test_letters_are_found_in_what_cells_display_and_in_captions_too(write):
    assert letters(write, code("matrix()", displayed(text_latex="$$Z = 1$$")))[0] == ["Z"]
    assert letters(write, code("draw()", PNG, mystnb={"figure": {"caption": "The $Z$."}}))[0] == ["Z"]


@pytest.mark.parametrize(("name", "found"), [("notation.ipynb", ["K"]), ("heads.ipynb", ["K", "Z"])])
def test_the_list_itself_may_have_letters_of_other_chapters(write, name, found):
    words = markdown("## Going deeper", "### Letters", "", "| $Z$ | a thing |", "### More", "", "$K$ and $Q$")
    table = LETTERS | {"source": LETTERS["source"].replace("## Letters", "### Letters")}
    table["source"] += "\n| $Q$ | a thing | [Notation](notation.ipynb) |"
    tracing.sections.cache_clear()
    page = write(markdown("## Going deeper"), table, name="list.ipynb")
    assert [fault.split()[1] for fault in form.letters_without_a_meaning(write(words, name=name), page)] == found


@pytest.mark.parametrize(
    ("name", "found"), [("notation", ["mixture"]), ("attention", ["mixture of mixtures", "mixture"])]
)
def test_the_list_itself_may_name_things_of_other_chapters(write, tmp_path, name, found):
    (tmp_path / "glossary.md").write_text(GLOSSARY, encoding="utf-8")
    path = write(
        markdown("## Going deeper", "### Letters", "", "A mixture of mixtures.", "### More", "", "A mixture."),
        name=f"{name}.ipynb",
    )
    faults = form.early_terms(path, tmp_path / "glossary.md")
    assert [fault.split(": ")[1].partition(" is explained later")[0] for fault in faults] == found


def test_a_letter_has_its_meaning_in_its_chapters_only(write):
    assert letters(write, markdown("$k$"), name="masks.ipynb")[0] == []
    assert letters(write, markdown("$k Q$"), name="encoder.ipynb")[0] == ["Q", "k"]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("| $Q$ | another | [Heads](heads.ipynb) |", ["Q has two meanings in heads"]),
        ("| $e$ | another | [Heads](heads.ipynb) |", ["e has two meanings in heads"]),
        ("| $d_k$ | another | everywhere |", ["d_k has two meanings in everywhere"]),
        ("| $k$ | another | [Heads](heads.ipynb) |", []),
    ],
)
def test_a_letter_with_two_meanings_is_found(write, row, found):
    table = LETTERS | {"source": f"{LETTERS['source']}\n{row}"}
    assert letters(write, markdown("$Q$"), table=table)[1] == [f"notation.ipynb: {fault}" for fault in found]

"""Words of the glossary on the pages of chapters."""

import types

import pytest
import terms
from docutils import nodes
from sphinx import addnodes


def term(name, page="book/other"):
    return terms.Term(name, f"term-{name}", f"what {name} means", frozenset({page}))


def item(title, *meaning):
    paragraph = nodes.paragraph("", "", *meaning)
    return nodes.definition_list_item("", nodes.term("", title, ids=[f"term-{title}"]), nodes.definition("", paragraph))


def test_a_glossary_is_read_with_places_meanings_and_the_pages_that_explain():
    see = addnodes.pending_xref("", nodes.inline("", "The page"), reftarget="book/here")
    listed = nodes.definition_list("", item("mini-batch", nodes.Text("A few\nsentences. See "), see, nodes.Text(".")))
    assert terms.glossary(listed) == [
        terms.Term("mini-batch", "term-mini-batch", "A few sentences.", frozenset({"book/here"}))
    ]


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("byte-pair encoding (BPE)", ["byte-pair encoding", "BPE"]),
        ("LSTM, GRU", ["LSTM", "GRU"]),
        ("head", []),
        ("padding mask", ["padding mask"]),
    ],
)
def test_a_title_may_have_several_names_and_everyday_words_are_none(title, found):
    assert terms.names(title) == found


def test_longer_terms_are_found_before_those_inside_them():
    listed = nodes.definition_list("", item("attention"), item("self-attention"))
    assert [t.name for t in terms.glossary(listed)] == ["self-attention", "attention"]


def links(text, waiting):
    made = terms.linked(text, waiting, "glossary.html")
    assert "".join(node.astext() for node in made) == text
    return [(n.astext(), n["refuri"]) for n in made if isinstance(n, nodes.reference)]


def test_the_first_use_is_linked_once_and_the_sentence_stays_the_same():
    waiting = [term("softmax")]
    assert links("Softmax here, softmax there.", waiting) == [("Softmax", "glossary.html#term-softmax")]
    assert links("And softmax again.", waiting) == []


def test_several_terms_of_one_sentence_are_linked():
    found = links("An encoder and a decoder.", [term("decoder"), term("encoder")])
    assert [name for name, _ in found] == ["encoder", "decoder"]


@pytest.mark.parametrize("text", ["softmaxes", "log-softmax", "softmax_backward"])
def test_a_part_of_a_word_is_no_use(text):
    assert links(text, [term("softmax")]) == []


def test_names_in_capitals_are_not_found_in_small_letters():
    assert links("the bleu of it", [term("BLEU")]) == []


class App:
    """As much of Sphinx as is asked: a book with one chapter and a glossary."""

    def __init__(self, *items):
        pages = {terms.GLOSSARY: nodes.definition_list("", *items)}
        self.builder = types.SimpleNamespace(format="html", get_relative_uri=lambda page, other: "glossary.html")
        self.env = types.SimpleNamespace(
            found_docs={"book/here"}, doc2path=lambda page: f"{page}.ipynb", get_doctree=pages.__getitem__
        )


def test_a_chapter_links_the_terms_that_another_explains_and_each_link_has_its_meaning():
    see = addnodes.pending_xref("", nodes.inline("", "This page"), reftarget="book/here")
    app = App(item("softmax", nodes.Text('Shares, "all" > 0. See another page.')), item("mini-batch", see))
    paragraph = nodes.paragraph("", "The softmax of a mini-batch.")
    terms.link_terms(app, nodes.section("", paragraph), "book/here")
    assert [n["refuri"] for n in paragraph.findall(nodes.reference)] == ["glossary.html#term-softmax"]
    link = '<a class="term reference internal" href="glossary.html#term-softmax"'
    context = {"body": f"<p>{link}>softmax</a></p>"}
    terms.explain_terms(app, "book/here", "page.html", context, None)
    assert context["body"] == f'<p>{link} data-meaning="Shares, &quot;all&quot; &gt; 0.">softmax</a></p>'

"""German words on the pages."""

import languages
import pytest
from helpers import unchecked


@pytest.fixture(scope="module", autouse=True)
def vocabulary():
    """The words of thousands of sentences: with every signature checked they take fifteen times as long."""
    with unchecked():
        languages.vocabulary()


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("the article <em>die</em>", 'the article <em lang="de">die</em>'),
        ("says “ich liebe KI” and “I love AI”", 'says “<span lang="de">ich liebe KI</span>” and “I love AI”'),
        ('<td class="x">ich liebe KI &lt;eos&gt;</td>', '<td lang="de" class="x">ich liebe KI &lt;eos&gt;</td>'),
        ("<th>&lt;bos&gt; → Wir</th>", '<th lang="de">&lt;bos&gt; → Wir</th>'),
        ("<em>so</em> “in”, <em>Hund or dog</em>, <td>12</td>, <td>&lt;eos&gt;</td>",) * 2,
        ("<pre>“ich liebe KI”</pre><svg><td>Hund</td></svg>",) * 2,
        ("<x-figure><td>Hund</td></x-figure>", '<x-figure><td lang="de">Hund</td></x-figure>'),
        ('<script>"“Hund”"</script><em>Hund</em>', '<script>"“Hund”"</script><em lang="de">Hund</em>'),
    ],
)
def test_german_words_are_marked_where_they_are_stressed_quoted_or_alone(body, wanted):
    assert languages.marked(body) == wanted

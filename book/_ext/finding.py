"""What the search asks: Sphinx's index of the words, and what the built pages say besides.

The index says which pages have a word. Here it learns which of them use it most, where the glossary sends for a
word, where which formula stands, and which pages are there to look something up. `_static/search.js` ranks by it.
"""

import functools
import json
import pathlib
import re
import unicodedata
from collections import Counter, defaultdict

import yaml
from lxml import html
from terms import GLOSSARY, called

SEARCH, START = "search", "Search.setIndex("
# What stands on a page and is no part of its text.
APART = (
    "//*[self::script or self::style or self::nav or contains(@class, 'headerlink')]"
)
LONGEST = 90  # characters of a formula: longer ones are matrices of numbers


def spoken(formula):
    """A formula of a page in one line, without any signs of grouping: K^T / √d_k is "KT/√dk"."""
    parts = [spoken(part) for part in formula]
    match formula.tag:
        case "mfrac":
            return "/".join(parts)
        case "msqrt":
            return "√" + "".join(parts)
        case "mtr" | "mlabeledtr":
            return "".join(parts) + " "
    return "".join(parts) or formula.text or ""


def plain(text):
    """A formula as it is compared: letters, numbers and signs, without what may be written in several ways."""
    text = unicodedata.normalize("NFKC", text).lower().replace("−", "-")
    return re.sub(r"[\s^_(){}\[\]·⋅*,\u2061-\u2064]", "", text)


def sections(article):
    """The parts of a page that have places of their own, each without the parts inside it, the page itself first."""
    for section in (article, *article.iter("section")):
        texts, formulas, waiting = [], [], [section]
        while waiting:
            element = waiting.pop()
            if element.tag == "math":
                formulas.append(element)
                texts.append(element.tail)
                continue
            if element is not section:
                texts.append(element.tail)
                if element.tag == "section" or not isinstance(element.tag, str):
                    continue
            texts.append(element.text)
            waiting.extend(element)
        yield section.get("id", ""), " ".join(filter(None, texts)), formulas


def read(page):
    """The words of a page, what it calls its formulas and where each stands first, and its terms with their homes."""
    tree = html.fromstring(page.encode(), parser=html.HTMLParser(encoding="utf-8"))
    (article,) = tree.xpath("//article")
    for element in article.xpath(APART):
        element.drop_tree()
    texts, formulas = [], defaultdict(list)
    for place, text, found in sections(article):
        texts.append(text)
        for formula in found:
            for line in filter(None, map(plain, spoken(formula).split(" "))):
                if len(line) <= LONGEST and re.search(r"[^\W\d]", line):
                    formulas[line].append(place)
    homes = {}
    for term in article.xpath("//dl[contains(@class, 'glossary')]/dt"):
        for link in term.xpath("following-sibling::dd[1]//a[contains(@href, '.html')]")[
            :1
        ]:
            page, _, place = link.get("href").partition("#")
            for name in called(term.text_content()):
                homes[name.lower()] = (
                    GLOSSARY.rpartition("/")[0] + "/" + page.removesuffix(".html"),
                    place,
                )
    return " ".join(texts), formulas, homes


def listed(found):
    """The pages of a word: Sphinx has a single one without a list."""
    return found if isinstance(found, list) else [found]


def improve(index, pages, stems, looked_up):
    """The index of Sphinx with what is read from the pages, a dict from their names to their HTML."""
    number = {name: n for n, name in enumerate(index["docnames"])}
    words, formulas, homes = {}, defaultdict(list), {}
    for name, page in pages.items():
        text, found, sent = read(page)
        words[number[name]] = Counter(stems(text))
        homes |= sent
        for formula, places in found.items():
            formulas[formula].append((len(places), number[name], places[0]))
    length = {n: max(1, count.total()) for n, count in words.items()}
    mean = sum(length.values()) / max(1, len(length))

    def share(word, page):
        """How much of a page a word is: more for each time, but less and less."""
        times = words.get(page, Counter())[word]
        return times / (times + 0.5 + length.get(page, mean) / mean)

    for word, named in index["titleterms"].items():  # Sphinx leaves these out of terms
        both = {*listed(named), *listed(index["terms"].get(word, []))}
        index["terms"][word] = sorted(both) if len(both) > 1 else min(both, default=[])
    for word, found in index["terms"].items():
        if isinstance(found, list):
            found.sort(key=lambda page: -share(word, page))
    for kind in ("terms", "titleterms"):  # nobody can ask for a whole number
        index[kind] = {
            word: found
            for word, found in index[kind].items()
            if not word.isdecimal() and word
        }
    index["homes"] = {
        name: [number[page], place]
        for name, (page, place) in sorted(homes.items())
        if page in number
    }
    index["formulas"] = {
        formula: [
            [page, place] for _, page, place in sorted(found, key=lambda f: -f[0])
        ]
        for formula, found in sorted(formulas.items())
    }
    index["reference"] = [number[name] for name in sorted(looked_up) if name in number]
    return index


def improve_index(app, error):
    """Read the built pages and write the index anew."""
    if error or app.builder.format != "html":
        return
    path = pathlib.Path(app.outdir, "searchindex.js")
    index = json.loads(
        path.read_text(encoding="utf-8").removeprefix(START).removesuffix(")")
    )
    pages = {
        name: pathlib.Path(app.outdir, f"{name}.html").read_text(encoding="utf-8")
        for name in index["docnames"]
    }
    story = pathlib.Path(app.srcdir, "book", "story.yml").read_text(encoding="utf-8")
    listed = yaml.safe_load(story)["reference"]
    looked_up = {
        name for name in pages if name.split("/")[1].partition(".")[0] in listed
    }
    language = app.builder.indexer.lang
    stem = functools.cache(language.stem)  # of 380,000 words few are different

    def stems(text):
        return [stem(word.lower()) for word in language.split(text)]

    index = improve(index, pages, stems, looked_up)
    packed = json.dumps(index, separators=(",", ":"), sort_keys=True)
    path.write_text(f"{START}{packed})", encoding="utf-8")


def bring_search(app, page, template, context, doctree):
    """Give the page of the search and the glossary a script each; other pages do not load it."""
    if page in (SEARCH, GLOSSARY):
        app.add_js_file(f"{page.rpartition('/')[2]}.js", defer="defer")

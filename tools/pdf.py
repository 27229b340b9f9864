"""Print the built book into one PDF by Chromium: the pages of the table of contents in its order, for readers of paper.

The pages are joined into one first (_build/pdf/book.html), with every place and every link named after its page, so
that links inside the book stay links inside the PDF. Before them stand the contents, with the numbers of their pages,
and the sheet with the whole machine. What is of use on a screen only is left out: the pages about each function, the
code that a mark hides, and sources too long for the idea, which become a line with their file.
"""

import argparse
import os
import pathlib
import re
import shutil
import sys
from urllib.parse import unquote

import browser
import build
import yaml
from bs4 import BeautifulSoup

sys.path.append(str(build.ROOT / "book" / "_ext"))

import live

OUT = build.ROOT / "_build" / "pdf"
STYLE = pathlib.Path(__file__).with_suffix(".css")
SHEET = "whole-machine"
COLUMNS, DIGIT = (285.0, 540.0), 0.556  # where those of the contents end, in points; a digit, in sizes of its letter
NEEDLESS = (
    ".headerlink, .tag_download, .copybtn, .fallback:not(:has(svg), walk-figure *), .unfold, .moved, "
    ".mark.behind:not(.checked, .failed)"
)
NAMING = ("id", "name", "for", "aria-labelledby", "aria-describedby", "aria-controls")
FLAGS = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"]  # letters stand where their font wants them
HEAD = '<meta charset="utf-8"><title>The Tested Transformer</title>'
CONFIG = yaml.safe_load((build.ROOT / "_config.yml").read_text(encoding="utf-8"))
ONLINE = CONFIG["html"]["baseurl"]
ABOUT = """
<p class="about">Each chapter tells its idea first, in full type. What goes deeper is set smaller, with a line in the
margin. <small>✓ checked</small> stands where code holds what a sentence says; the code, and the pages about each
function of the package, are <a href="{online}">online</a> and in the folder that comes with each release. Of sources
that are longer than the idea can show, a line names the file.</p>
"""


def joined(pages, folder, parts=()):
    """One page that holds all, to lie in a folder.

    Args:
        pages: the paths of the pages, in order.
        folder: where the page is going to lie.
        parts: for the contents, the name of each part and its pages; without them there are none.

    """
    whole = BeautifulSoup(f'<!doctype html><html lang="en" data-theme="light"><head>{HEAD}</head></html>', "lxml")
    body, brought, figures = whole.new_tag("body", attrs={"class": "printed"}), set(), set()
    main, titles = whole.new_tag("main", attrs={"class": "bd-article"}), {}
    for path in pages:
        page = BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
        for element in page.select("link[rel=stylesheet]"):
            element["href"] = moved(element["href"].partition("?")[0], path, pages, folder)
            if element["href"] not in brought:
                whole.head.append(element)
                brought.add(element["href"])
        text = article(page, path, pages, folder)
        figures.update(tag.name.removesuffix("-figure") for tag in text.find_all(re.compile("-figure$")))
        titles[path.stem] = text.h1.get_text(strip=True)
        main.append(text)
    for name in live.files(sorted(figures)):
        if name.endswith(".js"):  # their styles are in that of the book
            source = os.path.relpath(live.FIGURES / name, folder)
            whole.head.append(whole.new_tag("script", attrs={"src": source, "defer": ""}))
    if parts:
        for element in reversed(front(parts, titles, pages, folder)):
            main.insert(0, element)
        style = whole.new_tag("style")
        style.string = STYLE.read_text(encoding="utf-8") + "".join(heads(parts, titles))
        whole.head.append(style)
    body.append(main)
    whole.html.append(body)
    return whole


def contents(pages):
    """The parts of the book: the name of each, and the names of its pages that are printed."""
    printed = {path.stem for path in pages}
    parts = {"": ["index"]} | build.contents()
    stems = {part: [pathlib.PurePath(name).name for name in names] for part, names in parts.items()}
    return [(part, [stem for stem in found if stem in printed]) for part, found in stems.items()]


def printed():
    """The pages of the book without those that are made out of the code: they are looked up on a screen."""
    return [path for path in build.pages() if path.parent.name != "api"]


def front(parts, titles, pages, folder):
    """The first pages: the title, the contents, how to read them, and the sheet."""
    lists = ""
    for name, stems in parts:
        entries = "".join(f'<li><a href="#{stem}">{titles[stem]}</a></li>' for stem in stems)
        lists += f"<div><h2>{name}</h2><ul>{entries}</ul></div>" if name else f"<div><ul>{entries}</ul></div>"
    sheet = os.path.relpath(pages[0].parents[1] / f"{SHEET}.svg", folder)
    lists += f'<div><ul><li><a href="#{SHEET}">The whole machine on one sheet</a></li></ul></div>'
    about, said = (
        ABOUT.format(online=ONLINE),
        "The machine on one sheet; the chapter on the Transformer tells it",
    )
    html = f'<section id="contents"><p class="title">{CONFIG["title"]}</p><h1>Contents</h1><nav>{lists}</nav>{about}'
    html += f'</section><section id="{SHEET}"><img src="{sheet}" alt="{said}"></section>'
    return BeautifulSoup(html, "lxml").body.find_all("section", recursive=False)


def heads(parts, titles):
    """A rule for each chapter: what stands on top of its pages."""
    for name, stems in parts:
        for stem in stems:
            yield f'section#{stem} {{ page: of-{stem} }}\n@page of-{stem} {{ @top-left {{ content: "{quoted(name)}" }} '
            yield f'@top-right {{ content: "{quoted(titles[stem])}" }} }}\n'


def quoted(text):
    """Text for a string of a style."""
    return text.replace("\\", "").replace('"', "”")


def article(page, path, pages, folder):
    """The text of a page, its places and links named after it."""
    text = page.select_one("article")
    for element in text.select(NEEDLESS):
        element.decompose()
    for link in text.select("a:has(> img)"):
        link.unwrap()  # it leads to the picture alone
    for picture in text.find_all("img", loading=True):
        del picture["loading"]  # nobody scrolls to it
    for line in text.select("section > p:last-child"):
        if line.get_text().startswith("Next:"):
            line.decompose()  # it comes next
    for door in text.select("a.door"):
        door.unwrap()  # most lead to code that is not printed
    for output in text.select(".cell_output"):
        if output.get_text(strip=True).startswith("not written yet"):
            output.decompose()
    for element in text.find_all(True):
        for field in NAMING:
            if field in element.attrs:
                element[field] = " ".join(f"{path.stem}--{name}" for name in element[field].split())
        for field in {"href", "src"} & element.attrs.keys():
            element[field] = moved(element[field], path, pages, folder)
            if field == "href" and element.name == "a":
                element[field] = online(element[field], pages, folder)
        if element.get("fill", "").startswith("url(#"):  # a hatch
            element["fill"] = element["fill"].replace("#", f"#{path.stem}--")
    for fold in text.find_all("details"):
        unfold(fold)
    for choices in text.select(".guess"):
        choices.p.decompose()
        choices.name = "ul"
        for choice in choices.find_all("button"):
            choice.name = "li"
    text.name, text["id"] = "section", path.stem
    return text


def unfold(fold):
    """A fold as paper has it: a section under its heading, a line or two words in its place, or what is in it."""
    if fold.parent is None or fold.decomposed:
        return  # it was in another one that went
    kinds, summary = set(fold.get("class", ())), fold.summary
    fold.name = "div"
    if "deeper" in kinds:
        if section := fold.find("section", recursive=False):  # the cards of the first page are a list
            fold["id"] = section.attrs.pop("id")
        summary.small.decompose()
        summary.unwrap()
    elif kinds & {"checked", "source"} and "failed" not in kinds:
        said = summary.get_text(strip=True) if "source" in kinds else "✓ checked"
        if "source" in kinds and (file := file_of(fold)):
            said = f"{said[0].upper()}{said[1:]} in {file}"
        fold.name = "small"
        fold.string = said
    elif word := re.search("solution|answer", f"{summary.text} {' '.join(kinds)}"):
        summary.name, summary.string = "strong", word[0].capitalize()
        fold["class"] = "solution"
    else:
        summary.decompose()


def file_of(fold):
    """The file of the first function whose source is shown here."""
    named = re.search(r"\b(tested_transformer(?:\.\w+)+)", fold.get_text())
    words = named[1].split(".") if named else []
    files = ("/".join(words[:n]) + ".py" for n in range(len(words), 1, -1))
    return next((file for file in files if (build.ROOT / "src" / file).is_file()), "")


def moved(url, path, pages, folder):
    """Where a link of a page leads, seen from the joined page."""
    if not url or re.match(r"[a-z]+:", url):
        return url
    target, _, place = url.partition("#")
    target = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
    if target in pages:
        return f"#{target.stem}--{place}" if place else f"#{target.stem}"
    if target.stem == SHEET:
        return f"#{SHEET}"
    return os.path.relpath(target, folder) + f"#{place}" * bool(place)


def online(url, pages, folder):
    """The public address of a file of the built book; what is in the PDF, or elsewhere, keeps its own."""
    if not url or url.startswith("#") or re.match(r"[a-z]+:", url):
        return url
    file, _, place = url.partition("#")
    inside = os.path.relpath((folder / file).resolve(), pages[0].parents[1]).replace(os.sep, "/")
    return ONLINE + inside + f"#{place}" * bool(place)


def print_page(page, pdf):
    """Let Chromium print a page, with bookmarks and tags for screen readers."""
    sys.path.insert(0, str(browser.DRIVER))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.browser(), args=FLAGS)
        tab = chromium.new_page()
        tab.set_default_timeout(600_000)
        tab.goto(page.as_uri(), wait_until="load")
        tab.evaluate("() => document.fonts.ready")
        tab.pdf(path=pdf, scale=0.8, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
        chromium.close()


def finish(pdf):
    """Pack the many small objects that tags and links are made of, which halves the file, and mend two things.

    Chromium writes the name of a heading twice where a page begins with it, and no numbers of pages into the contents.
    """
    import pikepdf

    with pikepdf.open(pdf, allow_overwriting_input=True) as book:
        with book.open_outline() as outline:
            waiting = list(outline.root)
            while waiting:
                mark = waiting.pop()
                mark.title = re.sub(r"^(.+)\1$", r"\1", mark.title)
                waiting.extend(mark.children)
        number(book)
        book.save(pdf, object_stream_mode=pikepdf.ObjectStreamMode.generate)


def number(book):
    """Write beside each entry of the contents, on the first page, the number of its page."""
    import pikepdf

    places = {page.objgen: n for n, page in enumerate(book.pages, start=1)}
    first, found = book.pages[0], []
    for link in first.get("/Annots", []):
        if "/Dest" in link and (where := book.Root.Dests.get(link.Dest)) is not None:
            found.append((*map(float, link.Rect), places[where[0].objgen]))
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    name = first.add_resource(pikepdf.Dictionary({k: pikepdf.Name(v) for k, v in font.items()}), "/Font")
    first.contents_add(b"q", prepend=True)
    first.contents_add(f"Q q {numbered(found, name)} Q".encode())


def numbered(found, font):
    """Numbers of pages at the ends of the columns, in the language of PDF; screen readers pass over them.

    Args:
        found: for each entry left, low, right and high, in points, and the number.
        font: its name on the page.

    """
    lines = []
    for _, low, right, high, place in found:
        edge = next(edge for edge in COLUMNS if right < edge)
        across = edge - 8 * DIGIT * len(str(place))
        lines.append(f"1 0 0 1 {across:.2f} {(low + high) / 2 - 2.9:.2f} Tm ({place}) Tj")
    return f"/Artifact BMC BT {font} 8 Tf 0.33 g {' '.join(lines)} ET EMC"


def main():
    """Join the pages and print them. The exit status is 0 only where there is a PDF."""
    if not browser.browser():
        print(f"A browser is needed: {', '.join(browser.NAMES)}, or the variable CHROMIUM", file=sys.stderr)
        return 1
    browser.install()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    page, pdf = OUT / "book.html", OUT / "the-tested-transformer.pdf"
    pages = printed()
    page.write_text(str(joined(pages, OUT, contents(pages))), encoding="utf-8")
    print_page(page, pdf)
    finish(pdf)
    print(f"The book is printed: {pdf} ({pathlib.Path(pdf).stat().st_size / 2**20:.1f} MB)")
    return 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    sys.exit(main())

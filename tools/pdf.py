"""Print the built book into one PDF: every page of the table of contents, in its order, by Chromium.

The pages are joined into one first (_build/pdf/book.html), with every place and every link named after its page, so
that links inside the book stay links inside the PDF.
"""

import os
import pathlib
import re
import shutil
import sys
from urllib.parse import unquote

import browser
import build
from bs4 import BeautifulSoup

OUT = build.ROOT / "_build" / "pdf"
NEEDLESS = ".headerlink, .tag_download, .copybtn, .fallback:not(:has(svg)), .unfold, .moved"
NAMING = ("id", "name", "for", "aria-labelledby", "aria-describedby", "aria-controls")
HEAD = '<meta charset="utf-8"><title>The Tested Transformer</title>'
PAPER = {"format": "A4", "margin": {"top": "18mm", "bottom": "20mm", "left": "20mm", "right": "20mm"}}
FOOT = '<p style="font-size: 8px; width: 100%; text-align: center"><span class="pageNumber"></span></p>'


def joined(pages, folder):
    """One page that holds all, to lie in a folder."""
    whole = BeautifulSoup(f'<!doctype html><html lang="en" data-theme="light"><head>{HEAD}</head></html>', "lxml")
    body, brought = whole.new_tag("body", attrs={"class": "printed"}), set()
    main = whole.new_tag("main", attrs={"class": "bd-article"})
    for path in pages:
        page = BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
        for element in page.select("link[rel=stylesheet], script"):
            field = "href" if element.name == "link" else "src"
            name = moved(element.get(field, "").partition("?")[0], path, pages, folder)
            if name:
                element[field] = name
            name = name or element.text
            if name not in brought and (element.name == "link" or "/figures/" in name):
                whole.head.append(element)
                brought.add(name)
        main.append(article(page, path, pages, folder))
    body.append(main)
    whole.html.append(body)
    return whole


def article(page, path, pages, folder):
    """The text of a page, its places and links named after it."""
    text = page.select_one("article")
    for element in text.select(NEEDLESS):
        element.decompose()
    for element in text.find_all(True):
        for field in NAMING:
            if field in element.attrs:
                element[field] = " ".join(f"{path.stem}--{name}" for name in element[field].split())
        for field in {"href", "src"} & element.attrs.keys():
            element[field] = moved(element[field], path, pages, folder)
    for fold in text.find_all("details"):
        fold.name, summary = "div", fold.summary
        if "deeper" in fold.get("class", ()):
            if section := fold.find("section", recursive=False):  # the cards of the first page are a list
                fold["id"] = section.attrs.pop("id")
            summary.small.decompose()
            summary.unwrap()
        elif "solution" in summary.text:
            summary.name, summary.string = "strong", "Solution"
        else:
            summary.decompose()
    text.name, text["id"] = "section", path.stem
    return text


def moved(url, path, pages, folder):
    """Where a link of a page leads, seen from the joined page."""
    if not url or re.match(r"[a-z]+:", url):
        return url
    target, _, place = url.partition("#")
    target = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
    if target in pages:
        return f"#{target.stem}--{place}" if place else f"#{target.stem}"
    return os.path.relpath(target, folder)


def awaited():
    """The style of the book, its fonts being waited for, however late they come."""
    style = (build.HTML / "_static" / "book.css").read_text(encoding="utf-8")
    return style.replace("font-display: optional", "font-display: block")


def print_page(page, pdf):
    """Let Chromium print a page, with bookmarks and tags for screen readers."""
    sys.path.insert(0, str(browser.DRIVER))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.browser(), args=["--no-sandbox", "--disable-gpu"])
        tab = chromium.new_page()
        tab.set_default_timeout(600_000)
        tab.route("**/book.css*", lambda route: route.fulfill(body=awaited(), content_type="text/css"))
        tab.goto(page.as_uri(), wait_until="load")
        tab.evaluate("() => document.fonts.ready")
        tab.pdf(path=pdf, **PAPER, scale=0.8, print_background=True, outline=True, tagged=True,
                display_header_footer=True, header_template="<span></span>", footer_template=FOOT)  # fmt: skip
        chromium.close()


def finish(pdf):
    """Pack the many small objects that tags and links are made of, which halves the file, and mend the bookmarks.

    Chromium writes the name of a heading twice where a page begins with it.
    """
    import pikepdf

    with pikepdf.open(pdf, allow_overwriting_input=True) as book:
        with book.open_outline() as outline:
            waiting = list(outline.root)
            while waiting:
                mark = waiting.pop()
                mark.title = re.sub(r"^(.+)\1$", r"\1", mark.title)
                waiting.extend(mark.children)
        book.save(pdf, object_stream_mode=pikepdf.ObjectStreamMode.generate)


def main():
    """Join the pages and print them. The exit status is 0 only where there is a PDF."""
    if not browser.browser():
        print(f"A browser is needed: {', '.join(browser.NAMES)}, or the variable CHROMIUM", file=sys.stderr)
        return 1
    browser.install()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    page, pdf = OUT / "book.html", OUT / "the-tested-transformer.pdf"
    page.write_text(str(joined(build.pages(), OUT)), encoding="utf-8")
    print_page(page, pdf)
    finish(pdf)
    print(f"The book is printed: {pdf} ({pathlib.Path(pdf).stat().st_size / 2**20:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

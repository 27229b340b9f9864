"""The styles of the theme and its extensions, without the rules that no page and no script can meet."""

import pathlib
import re

import themes
import tinycss2

NAME = re.compile(r"[.#]((?:[\w-]|\\.)+)")
WORD = re.compile(r"[\w-]+")
# What a selector may say that need not be there for it to hold.
CONDITIONS = re.compile(r":(?:not|is|where|has)\((?:[^()]|\([^()]*\))*\)")
# Bootstrap puts these names together while it runs.
MADE = re.compile(r"bs-|fade$|show$|offcanvas|modal|tooltip|collaps")


def cut(rules, words):
    """The rules, as text, that can hold where only some words name classes and ids."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [
                selector
                for selector in separate(rule.prelude)
                if all(
                    name in words or MADE.match(name)
                    for name in names(CONDITIONS.sub("", selector))
                )
            ]
            if selectors:
                body = tinycss2.serialize(rule.content)
                kept.append(f"{','.join(selectors)}{{{body}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            if inside := cut(parsed(rule.content), words):
                kept.append(
                    f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inside}}}"
                )
        else:
            kept.append(rule.serialize())
    return "".join(kept)


def parsed(css):
    """The rules of a style."""
    return tinycss2.parse_rule_list(css, skip_comments=True, skip_whitespace=True)


def names(selector):
    """The classes and ids that a selector names."""
    return [re.sub(r"\\(.)", r"\1", name) for name in NAME.findall(selector)]


def separate(prelude):
    """The selectors of a rule."""
    selectors = [[]]
    for token in prelude:
        if token == ",":
            selectors.append([])
        else:
            selectors[-1].append(token)
    return [tinycss2.serialize(tokens).strip() for tokens in selectors]


def cut_styles(app, error):
    """Cut every style of the built book but our own."""
    if error or app.builder.format != "html":
        return
    out = pathlib.Path(app.outdir)
    static = out / "_static"
    own = pathlib.Path(app.confdir, "book", "_static")
    words = set()
    for path in (*out.rglob("*.html"), *static.rglob("*.js")):
        if path.stem != "fontawesome":
            words.update(WORD.findall(path.read_text(encoding="utf-8")))
    for path in static.rglob("*.css"):
        if not (own / path.relative_to(static)).exists():
            style = path.read_text(encoding="utf-8")
            kept = cut(parsed(style), words)
            path.write_text(f'@charset "utf-8";{kept}', encoding="utf-8")


def write_colours(app, error):
    """Write the dictionary of colours before our own style."""
    if error or app.builder.format != "html":
        return
    path = pathlib.Path(app.outdir, "_static", "book.css")
    style = path.read_text(encoding="utf-8")
    path.write_text(themes.style() + style, encoding="utf-8")

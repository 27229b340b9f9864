"""Files that the theme and its extensions lay beside the pages and that no page can ask for: they go."""

import pathlib
import re

# What a file can be asked for in: a page, a style, a script, and what says where pages are.
ASKING = {".html", ".css", ".js", ".xml"}
# No page names them: what Sphinx reads at its next build, other books of this one, search engines, and who quotes it.
WANTED = (".buildinfo", "objects.inv", "sitemap.xml", "claims.json")
# An address that ends in the name of a file. It begins where none goes on: to try anew at each of a million letters
# (weights are written so) would never end.
NAMED = re.compile(r"(?<![\w@%.+/-])[\w@%.+/-]+\.\w+")
# What scripts and styles name and browsers do not ask for: where their source is, and a second form of each font.
NEEDLESS = re.compile(
    r"\n?/[/*]# sourceMappingURL=[^\n]*|,\s*url\([^)]*\.ttf[^)]*\)\s*format\([^)]*\)"
)


def unused(folder):
    """The files below a folder of built pages that nothing there asks for, whatever asks for what asks for them."""
    files = {path for path in folder.rglob("*") if path.is_file()}
    kept = {path for path in files if path.name in WANTED}
    waiting = [
        path for path in files if path.suffix == ".html" and "_static" not in path.parts
    ]
    kept.update(waiting)
    by_name = {}
    for path in files:
        by_name.setdefault(path.name, set()).add(path)
    while waiting:
        path = waiting.pop()
        if path.suffix not in ASKING:
            continue
        for address in NAMED.findall(path.read_text(encoding="utf-8")):
            tail = [part for part in address.split("/") if part not in (".", "..")]
            for found in by_name.get(tail[-1] if tail else "", set()) - kept:
                if found.parts[-len(tail) :] == tuple(tail):
                    kept.add(found)
                    waiting.append(found)
    return files - kept


def sweep(app, error):
    """Take away what is never asked for."""
    if error or app.builder.format != "html":
        return
    out = pathlib.Path(app.outdir)
    for path in (out / "_static").rglob("*.*s"):
        if path.suffix in (".js", ".css"):
            text = path.read_text(encoding="utf-8")
            if (less := NEEDLESS.sub("", text)) != text:
                path.write_text(less, encoding="utf-8")
    for path in unused(out):
        path.unlink()
    for path in sorted(out.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()

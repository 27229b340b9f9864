"""Try every link that leads out of the book: of its pages, documents, bibliography, settings and docstrings.

    python tools/links.py

Sphinx's linkcheck tries them. What fails is tried again later, since a host may be down for an hour.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
PLACES = (
    "*.md", "*.cff", "_config.yml", "pyproject.toml", "book/*.md", "book/*.ipynb", "book/*.bib", "src/**/*.py",
)  # fmt: skip
LINK = re.compile(r"(?<!git\+)https?://[\w.-]+(?::\d+)?[^\s<>\"'`\\()\[\]{}|]*")
NO_PAGE = ("http://www.w3.org/2000/", "https://download.pytorch.org/whl/")  # a name; what pip reads
HOW = {
    "extensions": "myst_parser",
    "linkcheck_timeout": 30,
    "linkcheck_retries": 3,
    "linkcheck_workers": 2,  # arXiv and GitHub have many of them
    "linkcheck_rate_limit_timeout": 300,  # seconds, for a host that says "too many requests"
    "linkcheck_anchors_ignore_for_url": "https://github.com/.*",  # a script makes them
}


def links(root):
    """Each outside link with the files that have it. An arXiv number or a DOI of the bibliography is a link, too."""
    found = {}
    for path in sorted(path for place in PLACES for path in root.glob(place)):
        text = path.read_text(encoding="utf-8")
        here = [link.rstrip(".,;:*") for link in LINK.findall(text)]
        if path.suffix == ".bib":
            here += [f"https://arxiv.org/abs/{number}" for number in re.findall(r"arXiv:(\d{4}\.\d{4,5})", text)]
            here += [f"https://doi.org/{doi}" for doi in re.findall(r"(?i)\bdoi\s*=\s*[{\"]([^}\"]+)", text)]
        for link in dict.fromkeys(here):
            if not link.startswith(NO_PAGE):
                found.setdefault(link, []).append(path.relative_to(root).as_posix())
    return found


def broken(urls, **more):
    """Those links that lead nowhere, each with what was said."""
    with tempfile.TemporaryDirectory() as folder:
        page, out = pathlib.Path(folder) / "index.md", pathlib.Path(folder) / "out"
        page.write_text("# Links\n\n" + "".join(f"- <{url}>\n" for url in urls), encoding="utf-8")
        settings = [f"-D{name}={value}" for name, value in (HOW | more).items()]
        line = [sys.executable, "-m", "sphinx", "-b", "linkcheck", "-C", "-Q", *settings, folder, str(out)]
        subprocess.run(line, env=os.environ | {"PYTHONWARNINGS": "ignore"}, check=False)
        lines = (out / "output.json").read_text(encoding="utf-8").splitlines()
    told = {line["uri"]: line for line in map(json.loads, lines)}
    if missing := set(urls) - told.keys():
        raise ValueError(f"linkcheck has not tried {', '.join(sorted(missing))}")
    return {url: told[url]["info"] for url in urls if told[url]["status"] in ("broken", "timeout")}


def main(root=ROOT, rounds=3, wait=600, **more):
    """Try, and try again what failed; the exit status is 1 if something still does."""
    found = links(root)
    bad = broken(found, **more)
    for _ in range(rounds - 1):
        if 0 < len(bad) < len(found):  # if all of them fail, it is our network
            time.sleep(wait)
            bad = broken(bad, **more)
    for url, said in bad.items():
        print(f"{', '.join(found[url])}: {url}: {said}", file=sys.stderr)
    print(f"{len(found) - len(bad)} of {len(found)} links lead somewhere")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())

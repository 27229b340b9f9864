"""Build the book, warnings being errors, and make sure that it is really there."""

import os
import pathlib
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
BOOK = (sys.executable, "-c", "from jupyter_book.cli.main import main; main()")
STRICT = ("--all", "-n", "-W", "--keep-going", "-q")


def pages():
    """The pages that _toc.yml names, as paths below the built folder."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [toc["root"]] + [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [HTML / f"{name}.html" for name in files]


def main():
    """Build; the exit status is 0 only where every page of the table of contents has been written."""
    for page in pages():
        page.unlink(missing_ok=True)
    quiet = os.environ | {"PYTHONWARNINGS": "ignore"}  # deprecations inside the builder; its own warnings stay errors
    command = [*BOOK, "build", *STRICT, str(ROOT)]
    status = subprocess.run(command, cwd=ROOT, env=quiet, check=False, stdout=subprocess.DEVNULL).returncode
    missing = [str(page.relative_to(ROOT)) for page in pages() if not page.is_file()]
    if missing:
        print(f"not built: {', '.join(missing)}", file=sys.stderr)
    if status or missing:
        return 1
    print(f"The book is built: {HTML / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Try the pages and the interactive figures of the built book in a browser; where none can be had, say so and end well.

The browser is what the variable CHROMIUM names, or the first of NAMES on the path. What drives it is installed into
build/browser, beside and not into the environment of the book.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
DRIVER = ROOT / "build" / "browser"
WANTED = ROOT / "tests" / "browser" / "requirements.txt"


def browser():
    """The path of the browser, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def install():
    """Install the driver, unless the one that is there is the one that is wanted."""
    done = DRIVER / WANTED.name
    if not (done.is_file() and done.read_text(encoding="utf-8") == WANTED.read_text(encoding="utf-8")):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--upgrade", "--target", str(DRIVER), "-r", str(WANTED)], check=True)
        shutil.copy(WANTED, done)


def main():
    """The exit status is that of the tests, and 0 where there is no browser or nothing to drive it."""
    found = browser()
    if not found:
        print(f"No browser ({', '.join(NAMES)}, or the variable CHROMIUM): the pages were not tried")
        return 0
    try:
        install()
    except subprocess.CalledProcessError:
        print(f"What drives {found} cannot be installed here: the pages were not tried")
        return 0
    paths = os.pathsep.join(filter(None, [str(DRIVER), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"CHROMIUM": found, "PYTHONPATH": paths}
    # One more than cores: each waits now and then, for a page to come to rest or a movement to end.
    workers = str((os.cpu_count() or 1) + 1)
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", workers, "--dist", "worksteal"]
    quick = ["-p", "no:nbval", "-o", "addopts=--strict-markers"]  # nbval takes seconds to load, for each process
    return subprocess.run([*pytest, *quick, "tests/browser"], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    sys.exit(main())

"""Write the address of the repository, and that of its book, wherever they stand.

    python3 tools/address.py

`_config.yml` has the address, as `url:` under `repository:`. Who publishes a copy changes it there and runs this, in
the copy's Git. What the address was before is read from CITATION.cff.
"""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[1]
SAID = r"^(?:  url|repository-code): https://github\.com/([\w.-]+)/([\w.-]+)"
PLACES = (
    "github.com/{0}/{1}",
    "{0}.github.io/{1}",
    "notfound_urls_prefix: /{1}",
    "cd {1}",
    'Path(\\"{1}',  # a chapter, in the folder that it has cloned
)


def address(path):
    """The owner and the name of the repository, as a file says them."""
    found = re.search(SAID, path.read_text(encoding="utf-8"), re.M)
    if not found:
        raise ValueError(f"{path.name} must have an address like https://github.com/OWNER/NAME")
    return found.groups()


def written(text, old, new):
    """A text with the new address in all places where it had the old one."""
    for place in PLACES:
        whole = re.escape(place.format(*old)) + r"(?![\w-])"
        text = re.sub(whole, place.format(*new).replace("\\", r"\\"), text)
    return text


def main(root, files):
    """Write the address into files below root. CITATION.cff comes last: until all is done it says what was."""
    old, new = address(root / "CITATION.cff"), address(root / "_config.yml")
    for path in sorted((root / name for name in files), key=lambda path: path.name == "CITATION.cff"):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture, or the numbers of a model
            continue
        if (now := written(text, old, new)) != text:
            path.write_text(now, encoding="utf-8", newline="\n")
            print(path.relative_to(root))


if __name__ == "__main__":
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    main(ROOT, listed.split("\0")[:-1])

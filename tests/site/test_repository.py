"""What stands around the book: the README does what it says, and what is said twice agrees."""

import ast
import contextlib
import fnmatch
import functools
import importlib.metadata
import importlib.resources
import io
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile

import download
import guards
import matrix
import pytest
import yaml
from guards import ROOT, cells
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tested_transformer
from tested_transformer.__main__ import main, parser
from tested_transformer.book import onefile

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = sorted(ROOT.glob("*.md"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

named = pytest.mark.parametrize("path", [*DOCUMENTS, *WORKFLOWS], ids=lambda path: path.name)
workflows = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


# The README


EXPORTS = [code for code in blocks("python") if "torch.onnx" in code]  # takes long: tests/library/test_onnx.py


@pytest.mark.parametrize(
    "code", [c for c in blocks("python") if c not in EXPORTS], ids=lambda code: code.strip().splitlines()[-1]
)
def test_the_code_in_the_readme_runs(code):
    assert "assert" in code
    exec(compile(code, "README.md", "exec"), {})


COMMANDS = re.findall(
    r"-m tested_transformer +([^`#|\n]+)", "\n".join(p.read_text(encoding="utf-8") for p in DOCUMENTS)
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_in_the_documents_is_one_that_the_program_takes(command):
    words = shlex.split(command)
    if {"--help", "--version"} & set(words):
        with pytest.raises(SystemExit, match=r"^0$"):
            parser().parse_args(words)
    else:
        assert callable(parser().parse_args(words).command)


def test_a_command_that_the_program_does_not_take_is_noticed():
    assert len(COMMANDS) >= 8
    with pytest.raises(SystemExit, match="2"):
        parser().parse_args(["translate", "--attentoin", "page.html"])


SAID = re.findall(r'^echo "(.+)" \| python -m tested_transformer (translate.*)\n# (.+)$', README, re.M)


def run(sentence, command):
    """What the program answers, called as in `echo "sentence" | python -m tested_transformer command`."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{sentence}\n".encode()), encoding="utf-8"))
        assert main(shlex.split(command)) == 0
    return out.getvalue()


@pytest.mark.parametrize(("sentence", "command", "answer"), SAID, ids=lambda text: text)
def test_a_translation_in_the_readme_is_what_the_program_answers(sentence, command, answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(sentence, command) == f"{answer}\n"
    assert [path.name for path in tmp_path.iterdir()] == re.findall(r"--attention (\S+)", command)


def test_what_it_looked_at_stands_in_the_page_where_the_readme_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ((sentence, command),) = [(sentence, command) for sentence, command, _ in SAID if "--attention" in command]
    run(sentence, command)
    page = (tmp_path / re.search(r"Open `(\S+)`", README)[1]).read_text(encoding="utf-8")
    kind, layer, query, head, percent, key = re.search(
        r'unfold "(.+), layer (\d)", and read the row "(\w+)" of head (\d): ([\d.]+) percent on "(\w+)"', README
    ).groups()
    table = page.split(f"<summary>{kind}, layer {layer}</summary>")[1].split("<table>")[int(head)]
    keys = re.findall(r'<th scope="col">(.*?)</th>', table)
    row = re.search(rf'<th scope="row"> ?{query}</th>(.*?)</tr>', table)[1]
    found = dict(zip(map(str.strip, keys), re.findall(r"<td[^>]*>([\d.]+)</td>", row), strict=True))
    assert found[key] == percent


def test_a_conda_environment_has_the_oldest_python_that_is_tested():
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert re.findall(r"^conda create .*python=(\S+)$", README, re.M) == [lowest]


def test_the_readme_says_what_every_folder_and_module_is():
    (tree,) = blocks("text")
    found, package = {}, "src/tested_transformer/"
    for line in tree.splitlines():
        name, _, what = line.strip().partition(" ")
        found[package + name if line.startswith("  ") else name] = what.strip()
    for name, what in found.items():
        assert (ROOT / name).is_dir() if name.endswith("/") else (ROOT / name).is_file(), name
        assert what or name == package
    inside = [p for p in (ROOT / package).iterdir() if not p.name.startswith((".", "__")) and p.name != "py.typed"]
    ours = {line.split("/")[0] for line in tracked() if "/" in line and not line.startswith(".")} - {"src"}
    wanted = {f"{p.relative_to(ROOT).as_posix()}{'/' * p.is_dir()}" for p in inside} | {f"{name}/" for name in ours}
    assert wanted - found.keys() == set()


def tracked():
    """The files that Git knows. Without Git, as in an unpacked source distribution: what lies here, not ignored."""
    try:
        git = ["git", "ls-files"]
        known = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        known = []
    return known or list(lying(ROOT))


def lying(root):
    """The files below a folder but for those that .gitignore names, and those that a source distribution adds."""
    ignored = [line.rstrip("/") for line in (root / ".gitignore").read_text(encoding="utf-8").splitlines()]
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        parts = path.relative_to(root).parts
        if parts not in (("PKG-INFO",), ("setup.cfg",)) and not any(
            fnmatch.fnmatch(part, pattern) for part in parts for pattern in ignored
        ):
            yield "/".join(parts)


def test_the_documents_name_the_targets_that_make_has():
    targets = set(re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.M)[1].split())
    for path in DOCUMENTS:
        assert set(re.findall(r"[`;\n] ?make ([a-z]+)", path.read_text(encoding="utf-8"))) <= targets, path.name
    assert set(re.findall(r"make ([a-z]+)", README)) >= targets - {"help"}


def test_the_commands_without_make_are_those_of_the_makefile():
    recipes = dict(re.findall(r"^(\w+):.*\n((?:\t.*\n)+)", MAKEFILE, re.M))
    wanted = [line.strip() for name in ("book", "test") for line in recipes[name].splitlines()]
    wanted = [line for line in wanted if line not in ("$(BEGIN)", "$(END)")]  # a clock
    (given,) = blocks("powershell")
    assert "$(PYTHON) tools/environment.py ||" in recipes["setup"]
    commands = [line.partition(" #")[0] for line in given.splitlines() if line and not line.startswith("#")]
    without_slow = '$(if $(SLOW),-rs -m "not nightly",-m "not slow")', '-m "not slow"'
    plain = [line.replace("$(BIN)/", ".venv\\Scripts\\").replace(*without_slow) for line in wanted]
    assert commands == ["python tools/environment.py", *plain]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_the_documents_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        assert re.match(r"https?://", link) or (ROOT / link).is_file(), link
    assert path.suffix != ".md" or guards.broken_links(path) == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_a_path_in_the_documents_leads_somewhere(name):
    text, places = (ROOT / name).read_text(encoding="utf-8"), [ROOT, ROOT / "src" / "tested_transformer"]
    paths = re.findall(r"(?<![\w/.])(?:benchmarks|binder|book|byhand|model|src|tests|tools)/[\w./]*", text)
    assert len(paths) >= 15
    for path in (path.rstrip("./").replace("NAME", "*") for path in paths):
        assert any(list(place.glob(path)) for place in places), path


def test_an_option_of_pytest_in_the_documents_is_one_that_it_takes(pytestconfig):
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    options = set(re.findall(r"--nbval[\w-]*|--dist\b", text))
    assert {"--nbval", "--nbval-lax", "--dist"} <= options
    for option in options:
        pytestconfig.getoption(option)  # an unknown one is refused


@named
def test_a_row_of_the_matrix_in_a_document_is_one_that_it_has(path):
    text = path.read_text(encoding="utf-8")
    for rows in re.findall(r'(?:ROWS=|--rows )("[^"]+"|[\w,]+)', text):
        assert set(rows.strip('"').split(",")) <= matrix.ROWS.keys()


# What is said twice


def test_the_python_that_is_needed_is_the_same_everywhere():
    lowest = PROJECT["requires-python"].removeprefix(">=")
    said = {name: re.findall(r"Python (3\.\d+) (?:or newer|to 3)", text) for name, text in texts(ROOT)}
    said = {name: found for name, found in said.items() if found}
    assert {"README.md", "Makefile", "tools/environment.py"} <= said.keys()
    assert {version for found in said.values() for version in found} == {lowest}


def test_the_readme_names_the_torch_that_is_pinned():
    assert set(re.findall(r"(?:`|torch==)(\d+\.\d+\.\d+)", README)) == {pins()["torch"]}


def test_the_address_of_the_book_follows_from_that_of_the_repository():
    owner, name = CONFIG["repository"]["url"].removeprefix("https://github.com/").split("/")
    book = f"https://{owner}.github.io/{name}/"
    extensions = CONFIG["sphinx"]["config"]
    assert CONFIG["html"]["baseurl"] == extensions["ogp_site_url"] == book
    assert extensions["notfound_urls_prefix"] == f"/{name}/"
    assert PROJECT["urls"] == {"Book": book, "Repository": CONFIG["repository"]["url"]}
    assert (CITATION["url"], CITATION["repository-code"]) == (book, CONFIG["repository"]["url"])
    assert book in onefile.HEAD
    assert f"{book}{download.NAME}" in README


def test_the_address_stands_where_it_is_known_to_stand():
    """Each of these is held to it by a test, here or in tests/book; the pages of the book are made of _config.yml."""
    known = {"_config.yml", "CITATION.cff", "CONTRIBUTING.md", "README.md", "book/index.ipynb", "pyproject.toml"}
    known |= {"src/tested_transformer/book/onefile.py"}  # the file for download names the book that it is from
    chapters = {name for name in tracked() if name.endswith(".ipynb")}
    found = {name for name, text in texts(ROOT) if any(one in text for one in addresses(CONFIG))}
    assert known <= found <= known | chapters
    text = (ROOT / "book" / "index.ipynb").read_text(encoding="utf-8")
    assert set(re.findall(r"https://github\.com/[\w-]+/[\w-]+", text)) == {CONFIG["repository"]["url"]}


def texts(root):
    """The names and texts of the files that Git tracks, as they are below root; pictures and weights have none."""
    for name in tracked():
        data = (root / name).read_bytes()
        yield name, "" if b"\0" in data else data.decode()


def addresses(config):
    """What an address of this repository or its book has in it."""
    owner, name = config["repository"]["url"].split("/")[-2:]
    return f"{owner}/{name}", f"{owner}.github.io"


@pytest.mark.skipif(sys.platform == "win32", reason="a line for another shell")
def test_a_copy_gets_its_own_address_from_one_line(tmp_path):
    for name in tracked():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (line,) = re.findall(r"^ *(git grep .*perl.*)$", README, re.M)
    line = line.replace("OWNER", "some-one").replace("/NAME", "/a-copy").replace("$1NAME", "$1a-copy")
    subprocess.run(f"git init -q && git add . && {line}", shell=True, cwd=tmp_path, check=True)
    config = yaml.safe_load((tmp_path / "_config.yml").read_text(encoding="utf-8"))
    assert config["repository"]["url"] == "https://github.com/some-one/a-copy"
    book = "https://some-one.github.io/a-copy/"
    assert config["html"]["baseurl"] == config["sphinx"]["config"]["ogp_site_url"] == book
    assert config["sphinx"]["config"]["notfound_urls_prefix"] == "/a-copy/"
    assert {name for name, text in texts(tmp_path) if any(one in text for one in addresses(CONFIG))} == set()
    chapters = "".join(text for name, text in texts(tmp_path) if name.endswith(".ipynb"))
    assert chapters.count('Path(\\"a-copy/') == chapters.count('git\\", \\"clone') > 0
    assert "\ncd a-copy\n" in (tmp_path / "README.md").read_text(encoding="utf-8")


@named
def test_a_document_names_no_other_repository_or_book_of_ours(path):
    text = path.read_text(encoding="utf-8")
    book, repository = CONFIG["html"]["baseurl"], CONFIG["repository"]["url"]
    for found in re.findall(r"https://[\w.-]+\.github\.io/[^\s>)]*", text):
        assert found.startswith(book)
    for found in re.findall(r"https://github\.com/[^\s>)]*", text):
        assert re.match(re.escape(repository) + r"(/|$)", found)


def test_the_citation_has_the_version_and_the_authors_of_the_package():
    assert CITATION["version"] == tested_transformer.__version__
    assert "version" in PROJECT["dynamic"], "it stands in the package"
    assert CITATION["authors"] == PROJECT["authors"]
    assert CITATION["title"] == CONFIG["title"]
    assert CITATION["license"] == PROJECT["license"] == "MIT"
    assert PROJECT["authors"][0]["name"] == CONFIG["author"]
    for name in ("LICENSE", "LICENSE-TEXT.md"):
        assert f"2026 {CONFIG['author']}" in (ROOT / name).read_text(encoding="utf-8")


def pins():
    """The pinned versions by their names."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    found = re.findall(r"^([\w.-]+)==([\w.]+)", text, re.M)
    return {name.lower().replace("_", "-"): version for name, version in found}


def test_the_pinned_versions_lie_in_the_ranges():
    extras = PROJECT["optional-dependencies"]
    for wanted in [*PROJECT["dependencies"], *(each for extra in extras.values() for each in extra)]:
        name, lowest = re.match(r"([\w.-]+)[>=]=([\d.]+)", wanted).groups()
        assert numbers(pins()[name]) >= numbers(lowest), wanted


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)]


def test_the_package_says_that_it_is_typed():
    assert importlib.resources.files("tested_transformer").joinpath("py.typed").is_file()


# The workflows


def jobs(name):
    """The jobs of a workflow."""
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))["jobs"]


def steps(job):
    """What the steps of a job do, in their order."""
    return [step.get("run") or step["uses"].partition("@")[0] for step in job["steps"]]


def test_an_auditor_of_workflows_finds_nothing():
    """Actions pinned by commit, rights no wider than needed, no token left behind, no cache where something is made."""
    zizmor = shutil.which("zizmor", path=sysconfig.get_path("scripts"))
    how = ["--offline", "--no-progress", "--persona=pedantic", "--strict-collection"]
    found = subprocess.run([zizmor, *how, ROOT / ".github"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@workflows
def test_a_workflow_ends_in_time_and_waits_for_none_that_waits_for_it(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    longest = {"nightly.yml": 180}.get(path.name, 40)  # for the others, somebody waits
    assert all("uses" in job or job["timeout-minutes"] <= longest for job in workflow["jobs"].values())
    groups = [yaml.safe_load(other.read_text(encoding="utf-8"))["concurrency"]["group"] for other in WORKFLOWS]
    assert groups.count(workflow["concurrency"]["group"]) == 1


@workflows
def test_a_workflow_may_only_read_but_for_what_is_named_here(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    more = {
        ("publish.yml", "publish"): {"pages": "write", "id-token": "write"},
        ("release.yml", "upload"): {"actions": "read", "contents": "write"},
    }
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job.get("permissions") == more.get((path.name, name))
        assert "env" not in job, "a token would be seen by every step"
        for step in job.get("steps", []):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
    for line in re.findall(r"uses: (\S+@.*)", path.read_text(encoding="utf-8")):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def unconditional(steps):
    """Steps that can neither be left out nor fail unnoticed."""
    return not any({"if", "continue-on-error"} & step.keys() for step in steps)


def test_an_action_has_the_same_commit_everywhere():
    used = {line for path in WORKFLOWS for line in re.findall(r"uses: (\S+@.*)", path.read_text(encoding="utf-8"))}
    assert len({line.partition("@")[0] for line in used}) == len(used)


def test_nothing_is_published_that_was_not_tested():
    publish = jobs("publish.yml")
    assert publish["test"]["uses"].endswith("/test.yml")
    assert publish["publish"]["needs"] == "test"
    done = steps(jobs("test.yml")["pinned"])
    tried = [done.index(f"make {what}") for what in ("test", "book", "browser")]
    assert max(tried) < done.index("actions/upload-pages-artifact")
    pinned = jobs("test.yml")["pinned"]
    assert unconditional([*pinned["steps"][: max(tried) + 1], pinned, publish["test"]])
    assert publish["publish"]["if"] == "github.ref == 'refs/heads/main'", "which asks for success, too"


def test_nothing_is_released_that_was_not_tested():
    made, upload = jobs("release.yml").values()
    assert steps(made)[2:] == ["make test", "make zip", "make pdf", "actions/upload-artifact"]
    assert upload["needs"] == "book"
    assert "gh release upload" in steps(upload)[0]


def test_outputs_are_compared_on_other_processors_and_with_the_oldest_instructions():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "processors.yml").read_text(encoding="utf-8"))["jobs"]
    ran = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert ran == {"others": ["make test"], "roundings": ["make matrix ROWS=native,SSE"]}
    assert jobs["others"]["strategy"]["matrix"]["os"] == ["ubuntu-24.04-arm", "macos-latest"]


def exact(wanted):
    """The lowest version of a range, in three numbers."""
    version = wanted.replace(">=", "==")
    return version if version.count(".") == 2 else f"{version}.0"


def test_the_lowest_versions_are_those_of_the_package():
    ranges = jobs("test.yml")["ranges"]
    (lowest,) = ranges["strategy"]["matrix"]["include"]
    ours = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["chapters"]
    assert lowest["lowest"].split() == [exact(wanted) for wanted in ours]
    assert PROJECT["requires-python"] == f">={lowest['python']}"
    assert lowest["python"] == ranges["strategy"]["matrix"]["python"][0]


# What is handed over

LEFT_BEHIND = """
    _build/html/index.html build/screenshots/page.png .venv/bin/python .coverage .hypothesis/unicode .pytest_cache/v
    book/.ipynb_checkpoints/heads.ipynb book/.ruff_cache/0 tests/.hypothesis/examples tests/__pycache__/guards.pyc
    src/tested_transformer/__pycache__/files.pyc src/tested_transformer.egg-info/old
"""


@pytest.fixture(scope="module")
def handed_over(tmp_path_factory):
    """What the source distribution and the wheel hold, made where work has left its traces."""
    work = tmp_path_factory.mktemp("work")
    for name in tracked():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, work / name)
    for name in LEFT_BEHIND.split():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    code = "import setuptools.build_meta as to; to.build_sdist('dist'); to.build_wheel('dist')"
    subprocess.run([sys.executable, "-c", code], cwd=work, check=True, capture_output=True)
    (source,), (wheel,) = (work / "dist").glob("*.tar.gz"), (work / "dist").glob("*.whl")
    with tarfile.open(source) as archive:
        inside = [member.name.partition("/")[2] for member in archive if member.isfile()]
    return inside, zipfile.ZipFile(wheel).namelist()


def test_a_source_distribution_holds_what_git_tracks(handed_over):
    inside, _ = handed_over
    made = {name for name in inside if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    assert set(inside) - made == set(tracked()), "see MANIFEST.in"


def test_a_wheel_holds_the_package_and_nothing_else(handed_over):
    _, inside = handed_over
    package = {name.removeprefix("src/") for name in tracked() if name.startswith("src/tested_transformer/")}
    assert {name for name in inside if ".dist-info/" not in name} == package


def test_without_git_the_files_are_those_that_lie_there(tmp_path):
    for name in [".gitignore", "PKG-INFO", "a/b.py", *LEFT_BEHIND.split()]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / ".gitignore", tmp_path / name)
    assert list(lying(tmp_path)) == [".gitignore", "a/b.py"]


# What an installation brings


def brought(*wanted):
    """The distributions that pip installs for these requirements, on this machine; by what is installed here."""
    found, waiting = {}, [Requirement(line) for line in wanted]
    while waiting:
        one = waiting.pop()
        name, extras = canonicalize_name(one.name), found.setdefault(canonicalize_name(one.name), set())
        new = {"", *one.extras} - extras
        extras |= new
        for need in needs(name):
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in new):
                waiting.append(need)
    return found.keys()


@functools.cache
def needs(name):
    """What a distribution asks for; nothing is known of one that is for other systems."""
    try:
        return [*map(Requirement, importlib.metadata.requires(name) or [])]
    except importlib.metadata.PackageNotFoundError:
        return []


def asked(*extras):
    """The requirements of our package with these extras."""
    return PROJECT["dependencies"] + [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]


def imported(*paths):
    """The top names of what files import, at the top or inside a function, if it is not in Python or ours."""
    ours = {path.stem for folder in ("tests", "tools", "book/_ext") for path in (ROOT / folder).rglob("*.py")}
    names = {name.partition(".")[0] for path in paths for name in imported_by(path)}
    return names - sys.stdlib_module_names - ours - {"tested_transformer"}


@functools.cache
def imported_by(path):
    nodes = [*ast.walk(ast.parse(code_of(path)))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def code_of(path):
    if path.suffix == ".py":
        return path.read_text(encoding="utf-8")
    code = "\n".join(cell["source"] for cell in cells(path) if cell["cell_type"] == "code")
    return re.sub(r"^(\s*)%.*", r"\1pass", code, flags=re.M)


# It reads the list of files of all that is installed, which takes seconds.
where_names_come_from = functools.cache(importlib.metadata.packages_distributions)


def lacking(names, distributions):
    """Which of these names no distribution has."""
    where = where_names_come_from()
    return {name for name in names if not {canonicalize_name(d) for d in where.get(name, [])} & distributions}


def extras_installed(path):
    """The extras with which the jobs of a workflow install the package."""
    for line in re.findall(r"pip install (?!--no-deps -r requirements-models)(.+)", path.read_text(encoding="utf-8")):
        found = re.search(r"(?:^|[\s'\"])\.(?:\[([\w,]+)\])?(?:['\"\s]|$)", line)
        assert found, f"{path.name}: pip install {line}: the package and its extras"
        yield (found[1] or "").split(",")


def test_other_versions_are_tried_by_two_workflows():
    assert {path.name for path in WORKFLOWS if list(extras_installed(path))} == {"test.yml", "weekly.yml"}


def test_a_job_that_installs_the_package_by_its_extras_has_what_the_tests_import():
    tests = [p for p in (ROOT / "tests").rglob("*.py") if "browser" not in p.parts]
    helpers = [*(ROOT / "tools").glob("*.py"), *(ROOT / "book" / "_ext").glob("*.py"), ROOT / "conftest.py"]
    helpers = [p for p in helpers if p.stem not in ("mutants", "pdf", "rest")]  # what they need, make brings
    names = imported(*tests, *helpers)
    for extras in {tuple(extras) for path in WORKFLOWS for extras in extras_installed(path)}:
        assert lacking(names, brought(*asked(*extras))) == set()


def test_only_the_tests_of_the_site_need_the_builder_of_the_pages():
    rooms = [path for room in ("library", "book") for path in (ROOT / "tests" / room).glob("*.py")]
    assert lacking(imported(*rooms), brought(*asked("chapters", "dev"))) == set()
    beside = {name for path in rooms for name in re.findall(r"^import (\w+)$", path.read_text("utf-8"), re.M)}
    assert beside & {path.stem for path in (ROOT / "book" / "_ext").glob("*.py")} == set()


def test_the_chapters_and_their_room_need_the_extra_named_after_them_and_the_library_nothing_of_it():
    package = ROOT / "src" / "tested_transformer"
    chapters = imported(*(ROOT / "book").glob("*.ipynb"), *(package / "book").rglob("*.py"))
    assert not lacking(chapters, brought(*asked("chapters")))
    library = [path for path in package.rglob("*.py") if "book" not in path.relative_to(package).parts]
    assert lacking(imported(*library), brought(*asked())) == {"matplotlib", "sacrebleu", "gguf", "regex"}


BLOCKED = """
import importlib, pkgutil, sys
for name in ("matplotlib", "sacrebleu", "IPython", "gguf", "regex"):
    sys.modules[name] = None
import tested_transformer
for found in pkgutil.walk_packages(tested_transformer.__path__, "tested_transformer."):
    if not found.name.startswith("tested_transformer.book.figures"):
        importlib.import_module(found.name)
try:
    import tested_transformer.book.figures
except ModuleNotFoundError as error:
    print(error)
"""


def test_every_module_but_the_figures_can_be_imported_without_the_extra_and_they_say_what_they_need():
    said = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "the figures need matplotlib: pip install 'tested-transformer[chapters]'"


def test_who_runs_the_chapters_elsewhere_gets_the_extra():
    assert "-e .[chapters]" in (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert 'pip install ".[chapters]"' in README
    for path in WORKFLOWS:
        assert all("chapters" in extras for extras in extras_installed(path)), path.name


def test_a_missing_distribution_is_noticed():
    assert lacking({"numpy", "nosuch"}, brought("numpy>=2")) == {"nosuch"}
    assert lacking({"sphinx"}, brought(*asked("dev"))) == {"sphinx"}
    assert lacking({"sphinx"}, brought(*asked("dev", "book"))) == set()

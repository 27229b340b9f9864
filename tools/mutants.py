"""Mutation testing: change the code in one place, run the tests that pass through it, and see whether one fails.

    python tools/mutants.py [FOLDER ...]

mutmut makes the mutants and tries them in build/mutants, as `[tool.mutmut]` in pyproject.toml says. What no test
failed on is in build/survivors.diff. The exit status is 1 if fewer were killed than FLOOR says, in percent.
"""

import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).parents[1]
WORK = ROOT / "build" / "mutants"
SURVIVORS = ROOT / "build" / "survivors.diff"
PACKAGE = "src/tested_transformer"
SEEN = ("_toc.yml", "pyproject.toml", "src", "tests", "tools")
FLOOR = dict.fromkeys(("byhand", "model", "training", "decoding"), 85)  # see DECISIONS.md for how it was measured
KILLED = ("killed", "timeout", "segfault")


def run(folders):
    """Try all mutants of these folders, anew. mutmut writes beside what it reads, so it reads links in WORK."""
    from mutmut.__main__ import cli

    include_checked()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for name in SEEN:
        (WORK / name).symlink_to(ROOT / name)
    os.chdir(WORK)
    cli(["run", *(f"{PACKAGE.partition('/')[2]}.{folder}.*" for folder in folders)], standalone_mode=False)


def include_checked():
    """Have functions with `@checked(rules)` changed like any other: mutmut leaves out what has a decorator."""
    from libcst import FunctionDef, matchers
    from mutmut.mutation.file_mutation import MutationVisitor

    leave_out, checked = MutationVisitor._skip_node_and_children, matchers.Call(matchers.Name("checked"))

    def skip(visitor, node):
        if isinstance(node, FunctionDef) and all(matchers.matches(d.decorator, checked) for d in node.decorators):
            node = node.with_changes(decorators=())
        return leave_out(visitor, node)

    MutationVisitor._skip_node_and_children = skip


def tried(folder):
    """For each module of a folder, what became of its mutants: {path: {mutant: "killed", "survived", ...}}."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.stats import status_by_exit_code

    found = {}
    for path in sorted((ROOT / PACKAGE / folder).glob("*[!_].py")):
        data = SourceFileMutationData(path=path.relative_to(ROOT))
        data.load()
        found[data.path] = {name: status_by_exit_code[code] for name, code in data.exit_code_by_key.items()}
    return found


def score(states):
    """How many were killed, and how many there are: a mutant that makes the tests hang is noticed, too."""
    return sum(state in KILLED for state in states), len(states)


def report(found, floor):
    """The lines of a table, and whether so many were killed in all as the floor says."""
    counts = {str(path): score(states.values()) for path, states in found.items()}
    killed, total = (sum(column) for column in zip(*counts.values(), strict=True))
    lines = [f"{name:50}{killed:6} of {total:5}" for name, (killed, total) in counts.items()]
    lines.append(f"{'':50}{killed:6} of {total:5} = {killed / total:.1%}, at least {floor} %")
    return lines, 100 * killed >= floor * total


def survivors(found):
    """What each mutant changed that no test failed on, as diffs; those among them that ran into the time limit, too."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    for path, states in found.items():
        for name, state in states.items():
            if state != "killed":
                yield f"# {name}: {state}\n{get_diff_for_mutant(name, path=path)}\n\n"


def main(folders):
    """The exit status: 0 if every folder reaches its floor."""
    folders = folders or list(FLOOR)
    if unknown := set(folders) - set(FLOOR):
        raise SystemExit(f"{', '.join(sorted(unknown))}: no folder of {', '.join(FLOOR)}")
    run(folders)
    found = {folder: tried(folder) for folder in folders}
    SURVIVORS.write_text("".join(diff for one in found.values() for diff in survivors(one)), encoding="utf-8")
    reports = [report(one, FLOOR[folder]) for folder, one in found.items()]
    print(
        *(line for lines, _ in reports for line in lines),
        f"What survived is in {SURVIVORS.relative_to(ROOT)}",
        sep="\n",
    )
    return int(not all(good for _, good in reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

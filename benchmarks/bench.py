"""What all benchmarks share: sides that take turns, peak memory, and results as numbers, a table and a picture."""

import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

import matplotlib
import torch

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from tested_transformer.files import sealed

RESULTS = pathlib.Path(__file__).parent / "results"


def medians(actions, rounds):
    """Processor and wall seconds of each action, by name: medians of rounds in which they take turns."""
    for action in actions.values():
        action()
    seconds = {name: ([], []) for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            cpu, wall = time.process_time(), time.perf_counter()
            action()
            seconds[name][0].append(time.process_time() - cpu)
            seconds[name][1].append(time.perf_counter() - wall)
    return {name: tuple(statistics.median(times) for times in both) for name, both in seconds.items()}


def peak(script, *arguments):
    """Peak memory in MB that a script prints when it is asked for it.

    A new process inherits the peak of the one that starts it, so this runs before anything large.
    """
    line = [sys.executable, script, *arguments]
    return int(subprocess.run(line, capture_output=True, text=True, check=True).stdout)


def machine():
    """Where and when: what makes numbers comparable, or not."""
    info = pathlib.Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.+)$", info.read_text() if info.exists() else "", re.M)
    processor = found[1] if found else platform.processor() or platform.machine()
    return {
        "processor": processor, "cores": os.cpu_count(), "instructions": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__, "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def write(folder, name, title, rows, unit):
    """NAME.json has all numbers, NAME.md a table, NAME.png a picture. Rows: case, side, per_s, times_faster …"""
    folder.mkdir(parents=True, exist_ok=True)
    measured = sealed({"title": title, "machine": machine(), "rows": rows})
    (folder / f"{name}.json").write_text(json.dumps(measured, indent=1) + "\n")
    (folder / f"{name}.md").write_text(page(measured))
    cases = list(dict.fromkeys(row["case"] for row in rows))
    figure, axes = plt.subplots(1, len(cases), figsize=(3.6 * len(cases), 3.2), layout="constrained", squeeze=False)
    for axis, case in zip(axes[0], cases, strict=True):
        bars = [row for row in rows if row["case"] == case]
        marks = axis.barh([row["side"] for row in bars], [row["per_s"] for row in bars], color="#3b6fb6")
        axis.bar_label(marks, [f"{row['times_faster']:.2f} ×" for row in bars], padding=3)
        axis.set(title=case, xlabel=unit)
        axis.margins(x=0.25)
        axis.invert_yaxis()
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{title}\n{where(measured['machine'])}", fontsize=9)
    figure.savefig(folder / f"{name}.png", dpi=150)


def page(measured):
    """What was measured as Markdown."""
    rows = measured["rows"]
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([told(row[c]) for c in columns] for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    note = "Seconds and memory are those of one action; times_faster compares processor time."
    return f"# {measured['title']}\n\n{where(measured['machine'])}. {note}\n\n{table}\n"


def where(machine):
    """The machine and the day in a line."""
    processor = f"{machine['cores']} × {machine['processor']}, {machine['instructions']}"
    return f"{processor}, torch {machine['torch']}, {machine['date']}"


def told(value):
    """A number with three digits, or words."""
    return value if isinstance(value, str) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

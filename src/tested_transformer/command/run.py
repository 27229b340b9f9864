"""What was asked of a run. It is kept in run.json, and a resumed run follows it."""

import argparse
import os
import shlex
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any

from tested_transformer.command import arguments as shared
from tested_transformer.config import BASE, BIG, Config
from tested_transformer.files import read_json, write_json
from tested_transformer.model.gpt import Gpt
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint
from tested_transformer.training.filenames import CONFIG, MODEL, RUN, STATE, check_free
from tested_transformer.training.options import Options

SMALL = BASE.replace(vocab_size=8000, d_model=256, d_ff=1024, n_layers=3)
MINI = SMALL.replace(d_model=128, d_ff=256, n_heads=4, n_layers=4, dropout=0.2)
PRESETS: dict[str, tuple[Config, dict[str, Any]]] = {
    "mini": (MINI, {"warmup": 800, "rate_scale": 0.8, "batch_tokens": 1300}),
    "small": (SMALL, {"warmup": 2000, "batch_tokens": 2000}),
    "base": (BASE, {"batch_tokens": 25_000}),
    "big": (BIG, {"batch_tokens": 25_000}),
}
"""Sizes, with settings that suit them; the last two are the paper's."""

TUNING: dict[str, Any] = {"warmup": 60, "rate_scale": 0.1, "batch_tokens": 1300}
"""What suits a run with --init: it has a start, and its few steps begin at once."""

AS_GPT = {"norm_first": True, "activation": "gelu_tanh", "attention_bias": True}
TEXT: dict[str, Any] = {"max_len": 256, "smoothing": 0.0}
"""What differs in a run with --text: layers as GPT-2 has them, and what suits a text."""

PRESET, MERGES = "mini", 8000  # unless something else is said
FILES = ("source", "target", "valid_source", "valid_target")
ROWS, TEXTS = ("pairs", "valid_pairs"), ("text", "valid_text")
SIZES = ("d_model", "d_ff", "n_heads", "n_layers", "max_len", "dropout", "norm_first")
PAIRS = (*FILES, *ROWS, "multi30k", "phrasebook")
FREE = {"folder", "resume", "device", "threads", "command", "config", "logger"}
FREE |= {"shard", "checkpoint_activations"}  # they change no number
"""What may be said of a run that goes on, besides its limits."""


@dataclass(frozen=True)
class Run:
    """The data, the model and the options. preset, merges and init are how it began."""

    data: dict[str, Any]
    config: Config
    options: Options
    preset: str | None = None
    merges: int | None = None
    init: str | None = None  # the folder of the model that it began with

    def save(self, path: Path) -> None:
        """Write run.json."""
        write_json(path, asdict(self))

    def keep_data(self, path: Path) -> None:
        """Write into run.json where the data are now; its limits stay."""
        if (began := Run.load(path)).data != self.data:
            replace(began, data=self.data).save(path)

    @classmethod
    def load(cls, path: Path) -> "Run":
        """What `save` wrote; a ValueError says what else the file is."""
        saved = read_json(path, "run")
        try:
            for name in ("data", "config", "options"):
                if not isinstance(saved.get(name), dict):
                    raise TypeError(f"{name} ({saved.get(name)!r}) must be an object")
            for name, kind in (("preset", str), ("merges", int), ("init", str)):
                if not isinstance(saved.get(name), kind | None):
                    raise TypeError(
                        f"{name} ({saved[name]!r}) must be a {kind.__name__}"
                    )
            check_data(saved["data"])
            options = Options.from_dict(saved["options"])
            made = {"config": Config(**saved["config"]), "options": options}
            return cls(**saved | made)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} is no run: {error}") from None


def check_data(data: dict[str, Any]) -> None:
    """Refuse what names no sentence pairs and no text."""
    names = ("multi30k", *FILES, *ROWS, *TEXTS)
    kinds = {"phrasebook": int} | dict.fromkeys(names, str)
    for name, value in data.items():
        if type(value) is not kinds.get(name):
            raise TypeError(f"data has {name!r}: {value!r}")
    alone = {"phrasebook", "multi30k", ROWS[0], TEXTS[0]}
    if not (data.keys() & alone or data.keys() >= {*FILES[:2]}):
        raise TypeError(f"data ({data!r}) must name sentence pairs or a text")


def begins(given: argparse.Namespace) -> Run:
    """A new run, from the command line."""
    check_free(given.folder)
    asked = {
        f.name: v for f in fields(Options) if (v := getattr(given, f.name)) is not None
    }
    sizes = {n: v for n in SIZES if (v := getattr(given, n)) is not None}
    how: tuple[str | None, int | None, str | None]
    if given.init:
        check_start(given)
        kind = Gpt if given.text else Transformer
        path, settings = given.init / CONFIG, TUNING
        config, _ = checkpoint.read_description(path, kind)
        how = None, None, str(given.init.resolve())
    else:
        preset = given.preset or PRESET
        config, settings = PRESETS[preset]
        if given.text:
            config = config.replace(max_len=TEXT["max_len"], **AS_GPT)
        how = preset, MERGES if given.merges is None else given.merges, None
    if given.text:
        settings = settings | {"smoothing": TEXT["smoothing"]}
    options = Options(**settings | asked)
    options.check_limits()
    config = config.replace(**sizes)
    check_room(config)
    return Run(chosen(given), config, options, *how)


def check_start(given: argparse.Namespace) -> None:
    """Refuse what the model of --init has already."""
    if given.preset:
        raise ValueError("--preset has sizes, and so has the model of --init")
    for name in (*SIZES, "merges"):
        if name != "dropout" and getattr(given, name) is not None:
            rule = f"comes with the model in {given.init}: leave it out"
            raise ValueError(f"{flag(name)} {rule}")


def check_room(config: Config) -> None:
    """Refuse a model that this machine cannot train, before there is work to lose.

    Each number takes four float32: itself, its gradient, and two that Adam keeps. Most
    are in the attention and feed-forward of each layer and in two tables.
    """
    c = config
    heads = 2 * c.d_model * c.n_heads * (c.d_k + c.d_v)
    layers = c.n_layers * (3 * heads + 2 * 2 * c.d_model * c.d_ff)
    size = layers + (c.vocab_size + c.max_len) * c.d_model
    if 16 * size > (there := memory()):
        found = f"it takes {size / 2**26:,.0f} GiB, and here are {there / 2**30:.0f}"
        raise ValueError(f"the model is too large: {found}; choose smaller sizes")


def memory() -> float:
    """How many bytes of memory this machine has, infinity if it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system has these names
        return inf


def goes_on(given: argparse.Namespace) -> Run:
    """The run in the folder, with other limits if the command line names some.

    Everything else that is said must be as it was said at the start.
    """
    run = Run.load(given.folder / RUN)
    if not (given.folder / STATE).exists():
        what = f"the run in {given.folder} has no state ({STATE})"
        if (given.folder / MODEL).exists():
            rule = f"begin another one with its model, --init {typed(given.folder)}"
            raise ValueError(f"{what}: {rule}")
        raise ValueError(f"{what}, it never began: start it again, without --resume")
    began = vars(run) | asdict(run.config) | asdict(run.options) | run.data
    options, data = asdict(run.options), run.data
    if any(getattr(given, name) is not None for name in PAIRS):
        data = chosen(given)  # moved, perhaps; other pairs are refused by the state
        check_named(run.data, data)
    check_there(data)
    for name, value in vars(given).items():
        if value is None or name in FREE or name in PAIRS:
            continue
        said = str(value.resolve()) if isinstance(value, Path) else value
        if name in run.options.changeable():
            options[name] = said
        elif began.get(name) != said:
            found = f"it was {began.get(name)!r}, now {said!r}"
            raise ValueError(f"{flag(name)} cannot change when a run goes on: {found}")
    changed = {"data": data, "options": Options.from_dict(options)}
    return Run(**vars(run) | changed)


VALID = ("valid_source", "valid_target", "valid_pairs")


def check_named(began: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse pairs without those to validate on, where the run has some."""
    lacking = [flag(name) for name in VALID if name in began]
    if lacking and not now.keys() & {*VALID}:
        found = f"the run validates on files of its own: name {' and '.join(lacking)}"
        raise ValueError(f"{found} as well, wherever they are now")


def check_there(data: dict[str, Any]) -> None:
    """Refuse to go on where a file of the pairs is gone; a text is in the run's folder."""
    files = [name for name in data if name in (*FILES, *ROWS, "multi30k")]
    for name in files:
        if not Path(data[name]).exists():
            rule = f"say where they are now, with {' '.join(map(flag, files))}"
            raise ValueError(f"{flag(name)} ({data[name]}) is gone: {rule}")


def chosen(given: argparse.Namespace) -> dict[str, Any]:
    """Which sentence pairs or which text, in a form that --resume finds again."""
    shared.check_pairs(given)
    data: dict[str, Any] = {}
    for one, other in (FILES[:2], FILES[2:]):
        paths = getattr(given, one), getattr(given, other)
        if (paths[0] is None) != (paths[1] is None):
            raise ValueError(f"{flag(one)} and {flag(other)} belong together")
        if paths[0] is not None:
            data |= {one: readable(one, paths[0]), other: readable(other, paths[1])}
    if data and not given.source:
        raise ValueError("--valid-source needs --source: other pairs have their own")
    for one, other in (ROWS, TEXTS):
        if getattr(given, other) is not None and getattr(given, one) is None:
            raise ValueError(f"{flag(other)} needs {flag(one)}")
        data |= {
            name: readable(name, path)
            for name in (one, other)
            if (path := getattr(given, name)) is not None
        }
    if given.phrasebook is not None:
        return {"phrasebook": given.phrasebook}
    if given.multi30k:
        return {"multi30k": str(given.multi30k.resolve())}
    return data


def readable(name: str, path: Path) -> str:
    """The whole path of a file. A pipe is refused: a run that goes on reads it again."""
    if path.exists() and not path.is_file():
        raise ValueError(
            f"{flag(name)} ({path}) must be a file, not a folder or a pipe"
        )
    return str(path.resolve())


def flag(name: str) -> str:
    """How a field is called on the command line."""
    return "--" + name.replace("_", "-")


def typed(folder: Path) -> str:
    """A folder as one types it: in quotes, and never like an option."""
    name = str(folder)
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def as_a_rule(name: str) -> str:
    """What a setting is if nothing is said: "(mini 800, small 2000, else 4000)"."""
    values = {
        preset: (asdict(config) | asdict(Options(**settings)))[name]
        for preset, (config, settings) in PRESETS.items()
    }
    if name in TUNING:
        values = {"--init": TUNING[name]} | values
    if name in TEXT:
        values = {"--text": TEXT[name]} | values
    groups = [[*names] for _, names in groupby(values, values.get)]
    told = [f"{' and '.join(names)} {values[names[0]]}" for names in groups]
    if len(groups[-1]) > 1:
        other = "else" if len(groups) > 1 else "default"
        told[-1] = f"{other} {values[groups[-1][0]]}"
    return f"({', '.join(told)})"

"""The pages about the package: every public name is on them, as Python knows it, and names that stay do stay."""

import ast
import functools
import importlib
import inspect
import re
import textwrap
from itertools import zip_longest

import api
import pytest
from guards import BOOK, ROOT, cells, public
from torch import nn

import tested_transformer
from tested_transformer import exchange
from tested_transformer.__main__ import parser
from tested_transformer.config import TINY

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (BOOK / "api").glob("*.md")}
every_name = functools.cache(api.every_name)  # takes seconds; not while tests are collected


def read(source):
    """What the pages would say of a module with this source."""
    source = textwrap.dedent(source)
    return {n.name.removeprefix("m."): n for n in api.names(ast.parse(source), source, "m", "m.py")}


def found(name):
    """The object of a name, as Python knows it."""
    *path, last = name.split(".")
    for cut in range(len(path), -1, -1):
        try:
            obj = importlib.import_module(".".join(["tested_transformer", *path[:cut]]))
        except ModuleNotFoundError:
            continue
        for step in [*path[cut:], last]:
            obj = inspect.getattr_static(obj, step) if inspect.isclass(obj) else getattr(obj, step)
        return getattr(obj, "__func__", obj)
    raise AssertionError(name)


# What is on the pages


@pytest.mark.parametrize("part", api.PARTS)
def test_every_part_of_the_package_has_its_place_on_one_page(part):
    assert sum(text.count(f"```{{api}} {part}\n") for text in PAGES.values()) == 1


def test_the_first_page_leads_to_all_others():
    links = re.findall(r"\(api/(\w+)\.md\)", (BOOK / "api.md").read_text(encoding="utf-8"))
    assert sorted(links) == sorted(PAGES)


def test_every_public_function_and_class_is_there_and_nothing_else():
    wanted = set(filter(api.listed, (name.split(".", 1)[1] for name in public(tested_transformer))))
    assert {name for name, n in every_name().items() if n.kind in ("function", "class")} == wanted


def test_every_public_method_is_there():
    for name in (name for name, n in every_name().items() if n.kind == "class"):
        methods = {m for m, v in vars(found(name)).items() if m[0] != "_" and inspect.isfunction(unwrapped(v))}
        methods -= set(getattr(found(name), "_fields", ()))
        its = [m for m, x in every_name().items() if x.kind == "method" and m.startswith(f"{name}.")]
        listed = {m.rpartition(".")[2] for m in its}
        assert listed == methods, name


def unwrapped(member):
    """The function in a class method, a static method or a property."""
    for where in ("__func__", "fget", "func"):
        member = getattr(member, where, member)
    return member


@pytest.mark.parametrize("part", api.PARTS)
def test_a_name_has_a_docstring_and_the_parameters_that_python_knows(part):
    for n in (n for module in api.modules(part) for n in module.names if n.kind != "data"):
        obj = found(n.name)
        assert n.text == inspect.getdoc(obj), n.name
        if isinstance(obj, type) and issubclass(obj, Exception):
            continue  # Python knows no parameters of these
        known = [
            p
            for p in inspect.signature(unwrapped(obj) if n.kind == "method" else obj).parameters.values()
            if p.name not in ("self", "cls")
        ]
        known = [p for p in known if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        assert n.parameters == tuple(p.name + ("" if p.default is p.empty else "=") for p in known), n.name


def test_the_link_to_the_source_leads_to_the_definition():
    for n in every_name().values():
        first, last = n.lines
        lines = (ROOT / n.path).read_text(encoding="utf-8").splitlines()[first - 1 : last]
        start = {"class": "class ", "data": r"(\w+, )*"}.get(n.kind, "def ") + n.name.rpartition(".")[2]
        assert [line for line in lines[:3] if re.match(rf"{start}\b", line.strip())], n.name


# How they are read


def test_shapes_stand_in_a_signature_as_in_the_source_and_long_ones_get_a_line_for_each_parameter():
    source = '''
        def f(
            x: Float[Tensor, "B T D"],
            mask: Tensor | None = None, *rest: int, deep: bool = False, **more: Any
        ) -> Float[Tensor, "B T D"]:
            """Do it."""

        def g(a, b=(1,
                    2), *, c): "No types."
    '''
    names = read(source)
    assert names["f"].signature.splitlines() == [
        "f(",
        '    x: Float[Tensor, "B T D"],',
        "    mask: Tensor | None = None,",
        "    *rest: int,",
        "    deep: bool = False,",
        "    **more: Any,",
        ') -> Float[Tensor, "B T D"]',
    ]
    assert names["f"].parameters == ("x", "mask=", "deep=")
    assert names["g"].signature == "g(a, b=(1, 2), *, c)"
    assert names["g"].parameters == ("a", "b=", "c")
    assert names["g"].text == "No types."


@pytest.mark.parametrize(("letters", "lines"), [(62, 1), (63, 3)])
def test_a_signature_of_up_to_64_signs_stays_in_one_line(letters, lines):
    assert len(api.laid_out("f", ["x" * (letters - 1)], "").splitlines()) == lines


def test_methods_lose_self_and_what_is_private_is_left_out():
    names = read('''
        class A:
            """An A."""

            n: int
            kept: list[str] = field(default_factory=list)  # a field

            def f(self, x): "One."

            @classmethod
            def of(cls, y=1): "Two."

            @staticmethod
            def plain(z): "Three."

            @property
            def size(self) -> int: "Four."

            def _hidden(self): ...

        class B(Base):
            """A B."""

            def __init__(self, size: int) -> None: ...

        def _private(): ...
    ''')
    assert {name: n.signature for name, n in names.items()} == {
        "A": "class A(n: int, kept: list[str] = ...)",
        "A.f": "A.f(x)",
        "A.of": "A.of(y=1)",
        "A.plain": "A.plain(z)",
        "A.size": "A.size: int",
        "B": "class B(size: int)",
    }
    assert names["A"].parameters == ("n", "kept=")


def test_constants_are_there_if_a_text_explains_them():
    names = read('''
        BIG = 7
        """Large."""

        SECRET = 8
        NEXT = "no text about SECRET"
        _OWN = 9
        """Private."""

        TABLE: dict = {
            1: 2,
            3: 4,
            5: 6,
        }
        """Many
        rows."""
    ''')
    assert {name: (n.signature, n.text) for name, n in names.items()} == {
        "BIG": ("BIG = 7", "Large."),
        "TABLE": ("TABLE = ...", "Many rows."),
    }


def test_errors_are_those_of_a_function_and_of_what_it_calls_in_its_module():
    names = read('''
        def f(): "Calls."; check(1)

        def check(x):
            """Checks, and calls itself."""
            if x: raise ValueError("no")
            check(x - 1)

        def quiet(): "Nothing."

        def again():
            """Hands on what it caught."""
            try: quiet()
            except OSError as error: raise
            except KeyError as error: raise error

        class A:
            """Checks when it is made."""

            def __post_init__(self): self._fill()

            def _fill(self): raise errors.Own

            @classmethod
            def of(cls): "Fills."; cls._fill(1)

            def f(self): "Another object's check."; other.check(); other._fill()
    ''')
    assert {name: n.raises for name, n in names.items()} == {
        "f": ("ValueError",),
        "check": ("ValueError",),
        "quiet": (),
        "again": (),
        "A": ("errors.Own",),
        "A.of": ("errors.Own",),
        "A.f": (),
    }


def test_a_docstring_becomes_paragraphs_with_code_where_backticks_stand():
    one, two = api.paragraphs("Takes `x`\nand ``y``.\n\nGives z.")
    assert one.astext() == "Takes x and y."
    assert [node.astext() for node in one if node.tagname == "literal"] == ["x", "y"]
    assert two.astext() == "Gives z."


# The command line


def test_several_modules_are_told_in_one_table_with_a_link_to_each_and_one_alone_is_not():
    (table,) = api.overview(api.modules("model"))
    rows = [[cell.astext() for cell in row] for row in table.findall(api.nodes.row)]
    assert rows[0] == ["module", "what it is for"]
    assert ["model.linear", "The linear map that every box of the Transformer is built from."] in rows
    places = [link["refid"] for link in table.findall(api.nodes.reference)]
    assert places == [f"tested_transformer.{module.name}" for module in api.modules("model")]
    assert not list(api.overview(api.modules("exchange")))


def test_every_option_is_explained():
    listed = {name: [a for _, actions in groups for a in actions] for name, _, groups in api.commands()}
    assert {name: len(actions) for name, actions in listed.items()} == {
        name: len(command._actions) - 1  # without --help
        for action in parser()._actions
        if action.choices
        for name, command in action.choices.items()
    }
    assert all(action.help for actions in listed.values() for action in actions)


def test_an_option_is_written_as_it_is_typed():
    ours = [groups for name, _, groups in api.commands() if name in ("train", "translate", "evaluate")]
    options = {a.dest: api.option(a).astext() for groups in ours for _, acts in groups for a in acts}
    assert options["resume"] == "--resume\n\nresume the run in this folder"
    assert options["beam"] == "--beam WIDTH\n\nwidth of the beam search; 1 is greedy (default 4)"
    assert options["part"].endswith("; test_2016_flickr unless given")
    assert options["preset"].startswith("--preset mini | small | base | big\n\n")
    assert options["folder"] == "folder\n\nfolder of the run"
    assert options["model"].endswith("(default phrasebook, the model in this package)")


# What stays


def test_the_names_of_the_package_itself_are_other_stable_names():
    """What a type checker sees, what Python finds, what is listed: once each, and the same."""
    package = tested_transformer
    assert sorted(api.short()) == sorted(package._HOME) == sorted(set(package.__all__) - {"__version__"})
    for name, full in api.short().items():
        assert full == f"tested_transformer.{package._HOME[name]}.{name}"
        inside = full.removeprefix("tested_transformer.")
        assert getattr(package, name) is found(inside)
        assert inside in api.stable()
    assert {name for name in api.stable() if not re.search(r"[. ]", name)} == set(package.__all__)


def broken(promised, has):
    """Parameters that are gone, renamed or elsewhere, or must now be given. New ones may follow if they are free."""
    pairs = list(zip_longest(promised, has, fillvalue=""))
    return [
        (was, now)
        for was, now in pairs
        if (was and was.rstrip("=") != now.rstrip("=")) or (not now.endswith("=") and (not was or was.endswith("=")))
    ]


def test_a_stable_name_is_still_there_and_takes_what_it_took():
    for name, promised in api.stable().items():
        if re.search(r"^[^ ]+\.[^ ]+$", name):
            assert name in every_name()
            assert broken(promised, every_name()[name].parameters) == [], name


@pytest.mark.parametrize(
    ("has", "breaks"),
    [
        (("q", "k", "mask="), False),
        (("q", "k", "mask=", "dropout="), False),
        (("q", "k=", "mask="), False),
        (("q", "k"), True),
        (("k", "q", "mask="), True),
        (("q", "key", "mask="), True),
        (("q", "k", "mask"), True),
        (("q", "k", "mask=", "dropout"), True),
    ],
)
def test_a_broken_promise_is_noticed(has, breaks):
    assert bool(broken(("q", "k", "mask="), has)) == breaks


def test_the_stable_options_of_the_commands_are_still_there():
    now = {
        f"{name} {a.option_strings[0] if a.option_strings else a.dest}"
        for name, _, groups in api.commands()
        for _, actions in groups
        for a in actions
    }
    assert {name for name in api.stable() if " " in name} <= now


def test_what_the_readme_and_the_recipe_import_is_stable():
    """So that a line of the list cannot be lost. What stands below "How it is done" is shown, and no recipe."""
    code = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    page = cells(BOOK / "reuse.ipynb")
    (end,) = (n for n, c in enumerate(page) if c["source"].startswith("## How it is done\n"))
    recipe = [c["source"] for c in page[:end] if c["cell_type"] == "code"]
    code += [source for source in recipe if "%pip" not in source]
    used = {
        f"{node.module}.{alias.name}".partition(".")[2]
        for node in ast.walk(ast.parse("\n".join(code)))
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("tested_transformer.")
        for alias in node.names
    }
    used = {name for name in used if "." not in name or api.listed(name.rpartition(".")[0])}
    kept = api.stable().keys() | {name.rpartition(".")[0] for name in api.stable()}  # a module with one that is
    assert len(used) > 8
    assert used - kept == set()


def test_names_that_people_import_are_stable():
    kept = """
        config.Config config.TINY config.BASE config.BIG exchange.from_torch exchange.to_torch
        model.attention.attention model.masks.causal_mask model.masks.padding_mask model.positions.sinusoids
        model.positions.SinusoidalPositions model.positions.LearnedPositions model.embedding.Embedding
        model.embedding.create_embedding_layer model.heads.MultiHeadAttention model.heads.MultiHeadAttention.forward
        model.feedforward.FeedForward model.addnorm.LayerNorm model.addnorm.AddNorm model.encoder.EncoderLayer
        model.encoder.Encoder model.decoder.DecoderLayer model.decoder.Decoder model.transformer.Transformer
        model.transformer.Transformer.forward model.transformer.Transformer.encode model.transformer.Transformer.decode
        training.loss.smoothed_loss training.schedule.rate training.checkpoint.save training.checkpoint.load
        training.options.Options training.train.Trainer decoding.greedy.greedy decoding.beam.beam
        decoding.translator.Translator.load decoding.translator.Translator.translate
    """
    assert set(kept.split()) <= api.stable().keys()
    backward = {name for name in every_name() if name.startswith("byhand.") and name.endswith("_backward")}
    assert backward <= api.stable().keys()


def test_what_only_type_checkers_read_is_left_out():
    source = "@overload\ndef f(x: int) -> int: ...\ndef f(x: Any) -> Any: 'Does it.'"
    (only,) = api.names(ast.parse(source), source, "m", "m.py")
    assert (only.signature, only.text) == ("f(x: Any) -> Any", "Does it.")


def test_a_type_checker_knows_what_comes_from_a_module_of_pytorchs():
    source = ast.parse(inspect.getsource(exchange)).body
    *overloads, function = (n for n in source if isinstance(n, ast.FunctionDef) and n.name == "from_torch")
    notes = [(f.args.args[0].annotation, f.returns) for f in overloads]
    promised = [[eval(ast.unparse(note), vars(exchange)) for note in pair] for pair in notes]
    assert promised.pop() == [nn.Module, nn.Module]
    assert dict(promised).keys() == exchange.OURS.keys()
    assert not function.decorator_list
    for theirs, ours in promised:
        made = exchange.OURS[theirs](TINY)
        assert type(made) is ours


def test_names_that_are_assigned_together_are_all_there():
    found = read('''
        A, _B, C = 1, 2, 3
        """Three numbers."""
        ''')
    assert {name: n.text for name, n in found.items()} == {"A": "Three numbers.", "C": "Three numbers."}

"""The pages about the package: every public name with its signature, docstring, errors, chapter and source.

They are read from the source, without running it, so they can say nothing else. The command line is asked itself.
"""

import ast
import functools
import re
import sys
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import build  # noqa: E402

PACKAGE = ROOT / "src" / "tested_transformer"
SMALL = ["small-print"]
WIDE = 64
"""So many signs of a signature stand in one line; a longer one gets a line for each parameter."""

# What the pages are about, and how each begins. The rest of the package draws and checks this book.
PARTS = (
    "config",
    "exchange",
    "byhand",
    "model",
    "text",
    "data",
    "phrasebook.corpus",
    "published.loading",
    "published.writing",
    "published.installed",
    "training",
    "decoding",
)


def listed(name):
    """Whether a name, without that of the package, belongs to a part."""
    return f"{name}.".startswith(tuple(f"{part}." for part in PARTS))


class Name(NamedTuple):
    """A public name: its full name without the package, what it is, how it is called, and where it stands."""

    name: str
    kind: str
    signature: str
    parameters: tuple[str, ...]
    text: str
    raises: tuple[str, ...]
    path: str
    lines: tuple[int, int]

    @property
    def full(self):
        """The name that Python knows it by."""
        return f"tested_transformer.{self.name}"


class Module(NamedTuple):
    """A module: its name without the package, its docstring, and its public names, methods behind their class."""

    name: str
    text: str
    names: list[Name]


@functools.cache
def modules(part):
    """The public modules of a part of the package."""
    folder = PACKAGE.joinpath(*part.split("."))
    if not folder.is_dir():
        return [read(folder.with_suffix(".py"))]
    return [read(path) for path in sorted(folder.glob("*.py")) if public(path.name)]


def read(path):
    """What stands in a file, without running it."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    place = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
    where = (
        path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    )
    return Module(
        place, ast.get_docstring(tree), list(names(tree, source, place, where))
    )


def names(tree, source, place, where):
    """The public functions, classes, methods and explained constants of a module, in its order."""
    functions = defined(tree)

    def found(node, name, kind, called, takes=(), known=functions):
        lines = (
            min(d.lineno for d in [node, *getattr(node, "decorator_list", [])]),
            node.end_lineno,
        )
        text = "" if kind == "data" else ast.get_docstring(node) or ""
        return Name(
            f"{place}.{name}",
            kind,
            called,
            takes,
            text,
            raised(node, known),
            where,
            lines,
        )

    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if node in functions.values() and public(node.name):
            yield found(
                node, node.name, "function", *signature(node, source, node.name)
            )
        elif isinstance(node, ast.ClassDef) and public(node.name):
            known = functions | {
                f"self.{name}": method for name, method in defined(node).items()
            }
            yield found(node, node.name, "class", *made(node, source), known)
            for method in filter(lambda m: public(m.name), defined(node).values()):
                name = f"{node.name}.{method.name}"
                yield found(
                    method,
                    name,
                    "method",
                    *signature(method, source, name, bound=not static(method)),
                    known,
                )
        elif (
            isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            (target,) = node.targets if isinstance(node, ast.Assign) else (node.target,)
            written = ast.get_source_segment(source, node)
            long = len(written.splitlines()) > 4
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(after.value.value, str) and public(name.id):
                    called = f"{name.id} = ..." if long else written
                    made_of = found(node, name.id, "data", called)
                    yield made_of._replace(text=" ".join(after.value.value.split()))


def defined(node):
    """The functions of a module, or the methods of a class. Of overloads the last, which does the work."""
    return {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}


def public(name):
    """Names that begin with an underscore are private."""
    return not name.startswith("_")


def static(method):
    """Whether a method takes no self."""
    return any(
        isinstance(d, ast.Name) and d.id == "staticmethod"
        for d in method.decorator_list
    )


def made(node, source):
    """How an object of a class is made: by __init__, or by its fields where it has none."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            called, takes = signature(
                method, source, f"class {node.name}", bound=True, returns=False
            )
            return called, takes
    fields = fields_of(node, source)
    if not fields or any(ast.unparse(base) == "Protocol" for base in node.bases):
        return f"class {node.name}", ()
    texts = [
        re.sub(r" = field\(.*", " = ...", t, flags=re.S) for t, _ in fields.values()
    ]
    takes = tuple(name + ("=" if free else "") for name, (_, free) in fields.items())
    return laid_out(f"class {node.name}", texts, ""), takes


def fields_of(node, source):
    """The fields of a dataclass, each as it is written and whether it may be left out; inherited ones come first."""
    found = {}
    for base in node.bases if node.decorator_list else ():
        pattern = rf"^from {PACKAGE.name}\.([\w.]+) import .*\b{ast.unparse(base)}\b"
        if inherited := re.search(pattern, source, re.M):
            path = (PACKAGE / inherited[1].replace(".", "/")).with_suffix(".py")
            text = path.read_text(encoding="utf-8")
            classes = (n for n in ast.parse(text).body if isinstance(n, ast.ClassDef))
            found |= fields_of(
                next(c for c in classes if c.name == ast.unparse(base)), text
            )
    own = [f for f in node.body if isinstance(f, ast.AnnAssign)]
    return found | {
        f.target.id: (ast.get_source_segment(source, f), f.value is not None)
        for f in own
    }


def signature(node, source, name, bound=False, returns=True):
    """How a function is called, shapes as they stand in the source; and the names of its parameters, with = if free."""
    if any("property" in ast.unparse(d) for d in node.decorator_list):
        return f"{name}: {written(node.returns, source)}", ()
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults
    pairs = list(zip(plain, defaults, strict=True))[bound:]
    starred = [(a.vararg, "*")] if a.vararg else []
    texts = [parameter(arg, default, source) for arg, default in pairs]
    takes = [arg.arg + ("=" if default else "") for arg, default in pairs]
    texts += [f"*{written(arg, source)}" for arg, _ in starred] or (
        ["*"] if a.kwonlyargs else []
    )
    for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        texts.append(parameter(arg, default, source))
        takes.append(arg.arg + ("=" if default else ""))
    texts += [f"**{written(a.kwarg, source)}"] if a.kwarg else []
    result = f" -> {written(node.returns, source)}" if node.returns and returns else ""
    return laid_out(name, texts, result), tuple(takes)


def parameter(arg, default, source):
    """A parameter with its default, spaced as is usual."""
    if default is None:
        return written(arg, source)
    return f"{written(arg, source)}{' = ' if arg.annotation else '='}{written(default, source)}"


def written(node, source):
    """The source of a node in one line."""
    return re.sub(
        r"\s+",
        " ",
        re.sub(
            r"([(\[])\s+|,?\s+([)\]])", r"\1\2", ast.get_source_segment(source, node)
        ),
    )


def laid_out(name, texts, result):
    """A signature in one line, or with a line for each parameter."""
    line = f"{name}({', '.join(texts)}){result}"
    if len(line) <= WIDE or not texts:
        return line
    return "\n".join([f"{name}(", *(f"    {text}," for text in texts), f"){result}"])


def raised(node, known):
    """The errors that a function raises, or that others of its module raise for it. Of a class: when it is made."""
    waiting, seen, found = [node], set(), set()
    if isinstance(node, ast.ClassDef):
        waiting = [
            made
            for name, made in defined(node).items()
            if name in ("__init__", "__post_init__")
        ]
    while waiting:
        for part in ast.walk(waiting.pop()):
            if isinstance(part, ast.Raise) and part.exc:
                error = ast.unparse(getattr(part.exc, "func", part.exc))
                found |= {error} if error.rpartition(".")[2][0].isupper() else set()
            elif isinstance(part, ast.Call):
                called = re.sub(r"^cls\.", "self.", ast.unparse(part.func))
                if called in known.keys() - seen:
                    waiting.append(known[called])
                    seen.add(called)
    return tuple(sorted(found))


def every_name():
    """All names of all parts, by their names without the package."""
    return {
        n.name: n for part in PARTS for module in modules(part) for n in module.names
    }


@functools.cache
def short():
    """The names that the package itself has, each with its full name."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    return {
        alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith(PACKAGE.name)
        for alias in node.names
    }


def stable():
    """The names that stay, as the list has them: each with its parameters, = where one may be left out."""
    lines = (
        (ROOT / "book" / "api" / "stable.txt").read_text(encoding="utf-8").splitlines()
    )
    calls = (
        re.fullmatch(r"([\w. -]+?)(?:\((.*)\))?", line).groups("")
        for line in lines
        if not line.startswith("#")
    )
    return {
        name: tuple(filter(None, takes.split(", "))) for name, takes in calls if name
    }


def commands():
    """The commands with what can be said to them: names, what it stands for, help. Asked of the parser itself."""
    from tested_transformer.__main__ import parser

    top = next(action for action in parser()._actions if action.choices)
    for name, command in top.choices.items():
        groups = [
            (g.title, [a for a in g._group_actions if a.dest != "help"])
            for g in command._action_groups
        ]
        yield (
            name,
            command.description,
            [(title, actions) for title, actions in groups if actions],
        )


class Api(SphinxDirective):
    """The directive `api`: the public names of a part of the package."""

    required_arguments = 1

    def run(self):
        """What is there in one table, and a section for each module."""
        found = modules(self.arguments[0])
        return [*overview(found), *map(self.module, found)]

    def module(self, module):
        """What a module is for, and its names."""
        section = self.section(f"tested_transformer.{module.name}", module.name)
        section += paragraphs(module.text)
        inside = section
        for n in module.names:
            if n.kind == "method":
                box = nodes.container(classes=["api-method"], ids=[n.full])
                box += self.entry(n)
                inside += box
            else:
                inside = self.section(n.full, n.name.removeprefix(f"{module.name}."))
                inside += self.entry(n)
                section += inside
            domain = self.env.get_domain("py")
            domain.note_object(n.full, n.kind, n.full, location=section)
        return section

    def section(self, place, title):
        """A section with a name of the package as its title."""
        return nodes.section(
            "",
            nodes.title("", "", nodes.literal("", title)),
            ids=[place],
            names=[place],
        )

    def entry(self, n):
        """Signature, docstring, and what else is known."""
        block = nodes.literal_block(
            n.signature, n.signature, language="python", classes=["signature"]
        )
        return [block, *paragraphs(n.text), self.facts(n)]

    def facts(self, n):
        """The small print: errors, chapter, source, and whether the name stays."""
        line = nodes.paragraph("", "", classes=[*SMALL, "facts"])
        if n.raises:
            line += [
                nodes.Text("Raises "),
                *separated([nodes.literal("", e) for e in n.raises], ", "),
                nodes.Text(". "),
            ]
        line += nodes.inline(
            "", "", classes=["api-chapter"], names=[n.full]
        )  # filled when all chapters are read
        url = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))[
            "repository"
        ]
        first, last = n.lines
        line += nodes.reference(
            "",
            "Source",
            refuri=f"{url['url']}/blob/{url['branch']}/{n.path}#L{first}-L{last}",
        )
        line += nodes.Text(". Stable." if n.name in stable() else ".")
        return line


def overview(found):
    """A table with a line for each module, where there are several: its name, what it is for, its names."""
    if len(found) < 2:
        return
    group = nodes.tgroup(cols=2)
    group.extend((nodes.colspec(), nodes.colspec()))
    group += nodes.thead(
        "", table_row([nodes.Text("module")], [nodes.Text("what it is for")])
    )
    body = nodes.tbody()
    for module in found:
        link = nodes.reference(
            "",
            "",
            nodes.literal("", module.name),
            refid=f"tested_transformer.{module.name}",
        )
        body += table_row([link], paragraphs(module.text)[0].children)
    group += body
    longest = max(len(module.name) for module in found)
    style = f"100%; --letters: {longest}"  # what a theme writes after "width:"
    yield nodes.table("", group, classes=["modules"], width=style)


def table_row(*cells):
    """A row of a table, each cell from what stands in its line."""
    return nodes.row(
        "", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells)
    )


class Short(SphinxDirective):
    """The directive `short`: the names that the package itself has."""

    def run(self):
        """A list: each name, and the place where it is described."""
        listed = nodes.bullet_list()
        for name, full in sorted(short().items(), key=lambda pair: pair[1]):
            link = addnodes.pending_xref(
                "", nodes.literal("", name), refdomain="py", reftype="obj"
            )
            link["reftarget"] = full
            line = nodes.paragraph("", "", link, nodes.Text(" is "))
            line += nodes.literal("", full.removeprefix(f"{PACKAGE.name}."))
            listed += nodes.list_item("", line)
        return [listed]


class Commands(SphinxDirective):
    """The directive `commands`: the command line."""

    def run(self):
        """A section for each command, a list for each group of options."""
        return [self.command(*command) for command in commands()]

    def command(self, name, description, groups):
        """One command."""
        place = f"command-{name}"
        section = nodes.section(
            "", nodes.title("", "", nodes.literal("", name)), ids=[place], names=[place]
        )
        section += paragraphs(description[:1].upper() + description[1:])
        for title, actions in groups:
            section += nodes.rubric("", title[:1].upper() + title[1:])
            listed = nodes.definition_list(classes=["options"])
            for action in actions:
                listed += option(action)
            section += listed
        return section


def option(action):
    """An option as it is typed, and what it does."""
    value = action.metavar or (
        " | ".join(action.choices) if action.choices else action.dest.upper()
    )
    takes = f" {value}" if action.option_strings and action.nargs != 0 else ""
    typed = (", ".join(action.option_strings) or action.dest) + takes
    said = action.help.replace("%(default)s", str(action.default))
    if (
        said == action.help
        and action.option_strings
        and isinstance(action.default, str | int | float)
        and action.nargs != 0
    ):
        said += f"; {action.default} unless given"
    term = nodes.term("", "", nodes.literal("", typed))
    return nodes.definition_list_item("", term, nodes.definition("", *paragraphs(said)))


def paragraphs(text):
    """A docstring as paragraphs; what stands in backticks is code."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        parts = re.split(r"`+([^`]+)`+", " ".join(block.split()))
        kinds = [nodes.literal if i % 2 else nodes.Text for i in range(len(parts))]
        pieces = [
            k("", p) if k is nodes.literal else k(p)
            for k, p in zip(kinds, parts, strict=True)
            if p
        ]
        found.append(nodes.paragraph("", "", *pieces))
    return found


def separated(pieces, sign):
    """Pieces with a sign between them."""
    return [new for piece in pieces for new in (nodes.Text(sign), piece)][1:]


def shown(app):
    """Where chapters show the source of names: for each full name the first page, its title and the place on it."""
    if not hasattr(app.env, "shown_names"):
        app.env.shown_names = found = {}
        for page in app.env.toctree_includes and chapters(app):
            for strong in app.env.get_doctree(page).findall(nodes.strong):
                name = strong.astext()
                if name.startswith("tested_transformer.") and name not in found:
                    place = strong
                    while not isinstance(place, nodes.section):
                        place = place.parent
                    found[name] = page, app.env.titles[page].astext(), place["ids"][0]
    return app.env.shown_names


def chapters(app):
    """The chapters in the order of the book."""
    files = [name for names in build.contents().values() for name in names]
    return [name for name in files if app.env.doc2path(name).endswith(".ipynb")]


def name_chapters(app, doctree, page):
    """Say in which chapter the source of each name is shown."""
    for waiting in list(
        doctree.findall(
            lambda n: "api-chapter" in getattr(n, "attributes", {}).get("classes", ())
        )
    ):
        (name,) = waiting["names"]
        places = shown(app)
        found = places.get(name) or next(
            (p for n, p in places.items() if n.startswith(f"{name}.")), None
        )
        if found and app.builder.format == "html":
            chapter, title, place = found
            uri = f"{app.builder.get_relative_uri(page, chapter)}#{place}"
            waiting += [
                nodes.Text("Chapter "),
                nodes.reference("", title, internal=True, refuri=uri),
                nodes.Text(". "),
            ]
        waiting["names"] = []

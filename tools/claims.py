"""What a chapter claims: its asserts, and the solutions that it hands to check and check_test. And empty claims."""

import ast
import builtins
import json
import re
from collections import Counter

BUILTINS = set(dir(builtins)) - {"input", "open"}
KNOWN = BUILTINS | {"np", "math", "torch"}  # what these make of literals is no news
# but for what is found out by trying: how numbers are rounded, what a layer has, what is drawn or switched on
TRIED = {"bfloat16", "cumprod", "finfo", "float16", "float32", "half", "is_grad_enabled", "nn", "prod", "random"}
ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
FULL = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.GeneratorExp, ast.Lambda, ast.JoinedStr)  # true, whatever is inside
MUTABLE = (ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Call)
EQUAL = {"allclose", "array_equal", "equal", "isclose"}
CAUGHT = {"AssertionError", "Exception", "BaseException"}


def trees(path, text=None):
    """The code of a file: a tree for each code cell of a notebook, by the cell's number, or one for a module."""
    text = path.read_text(encoding="utf-8") if text is None else text
    if path.suffix == ".py":
        return {0: ast.parse(text)}
    cells = {i: "".join(c["source"]) for i, c in enumerate(json.loads(text)["cells"]) if c["cell_type"] == "code"}
    return {i: ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", code, flags=re.M)) for i, code in cells.items()}


def claims(path, text=None):
    """The different claims of a chapter, as code in one normal form."""
    nodes = [node for tree in trees(path, text).values() for node in ast.walk(tree)]
    asserts = {f"assert {ast.unparse(node.test)}" for node in nodes if isinstance(node, ast.Assert)}
    calls = (node for node in nodes if isinstance(node, ast.Call))
    return asserts | {ast.unparse(node) for node in calls if name(node.func) in ("check", "check_test")}


# Asserts that hold whatever the code does


def idle(test, known=()):
    """Why an assert of this always holds; None if it can fail. `known`: names that stand for literals."""
    if fixed(test, known):
        return "is made of literals"
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return idle(inner, known)
        case ast.IfExp(body=one, orelse=other):
            return idle(one, known) or idle(other, known)
        case (
            ast.BoolOp(values=inner)
            | ast.Call(func=ast.Name("all" | "any"), args=[ast.List(inner) | ast.Tuple(inner) | ast.Set(inner)])
        ):
            if any(same(negated, other) for one in inner for other in inner if (negated := opposite(one))):
                return "says a thing and its opposite"
            return next(filter(None, (idle(part, known) for part in inner)), None)
        case ast.Call(func=ast.Name("all" | "any"), args=[ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner)]):
            if why := idle(inner, known):
                return why
        case ast.Compare(left=ast.Name(), ops=[ast.IsNot()], comparators=[ast.Constant(None)]):
            return "says only that a thing is there"
        case _ if isinstance(test, FULL):
            return "is true, whatever is in it"
    for node in ast.walk(test):
        if isinstance(node, ast.comprehension) and empty(node.iter, known):
            return "looks at nothing"
        if any(same(*two) for two in twins(node)):
            return "compares a thing with itself"
        if isinstance(node, ast.Compare) and any(map(counts, *steps(node))):
            return "is true of every number of things"
    return None


def opposite(node):
    """What is denied here."""
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else None


def steps(compare):
    """What stands left of each sign of a comparison, the signs, and what stands right of them."""
    return [compare.left, *compare.comparators[:-1]], compare.ops, compare.comparators


def twins(node):
    """The pairs that this holds against each other."""
    match node:
        case ast.Compare():
            for one, op, other in zip(*steps(node), strict=True):
                within = isinstance(op, ast.In | ast.NotIn)
                yield from ((one, part) for part in (getattr(other, "elts", ()) if within else [other]))
        case ast.BinOp(left=one, op=ast.Sub(), right=other):
            yield one, other
        case ast.Call(args=[one, other, *_]) if name(node.func) in EQUAL:
            yield one, other


def counts(one, op, other):
    """Is this len(a) >= 0 or abs(a) >= 0, or the other way round?"""
    if isinstance(op, ast.LtE):
        one, other = other, one
    elif not isinstance(op, ast.GtE):
        return False
    return isinstance(one, ast.Call) and name(one.func) in ("abs", "len") and ast.unparse(other) in ("0", "0.0")


def fixed(node, known=()):
    """Is this made of literals alone, and of what NumPy, math, torch and Python itself make of them?"""
    nodes = list(ast.walk(node))
    read = {n.id for n in nodes if isinstance(n, ast.Name) and reads(n)}
    return read - set(bound(nodes)) <= KNOWN | set(known) and not TRIED & {name(n) for n in nodes}


def bound(nodes):
    """How often each name is set, or is a parameter."""
    names = (n.id for n in nodes if isinstance(n, ast.Name) and not reads(n))
    return Counter(names) + Counter(n.arg for n in nodes if isinstance(n, ast.arg))


def settled(tree):
    """The names of a cell that are set once, to something fixed that cannot change: name and value."""
    nodes, known = list(ast.walk(tree)), {}
    often = bound(nodes)
    for node in (node for node in nodes if isinstance(node, ast.Assign)):
        found = value(node.value, known)
        if found is not None and not any(isinstance(n, MUTABLE) for n in ast.walk(node.value)):
            known |= {t.id: found for t in node.targets if isinstance(t, ast.Name) and often[t.id] == 1}
    return known


def reads(node):
    """Is this name read, and not set?"""
    return isinstance(node.ctx, ast.Load)


def same(one, other):
    """Is this the same twice? What others wrote may answer differently when it is called again."""
    one, other = bare(one), bare(other)
    calls = (node for node in ast.walk(one) if isinstance(node, ast.Call))
    return ast.dump(one) == ast.dump(other) and all(name(call.func) in BUILTINS for call in calls)


def bare(node):
    """This without a plus in front of it or a copy behind it."""
    match node:
        case (
            ast.UnaryOp(op=ast.UAdd(), operand=inner)
            | ast.Call(func=ast.Attribute(value=inner, attr="copy" | "clone"), args=[])
        ):
            return bare(inner)
    return node


def empty(node, known=()):
    """Is there nothing in this: a literal, a slice up to 0, or what range, zip and their like make of such?"""
    match node:
        case ast.Call(func=ast.Name("zip" | "enumerate" | "reversed" | "sorted" | "list" | "tuple"), args=[*inner]):
            return any(empty(part, known) for part in inner)
        case ast.Subscript(slice=ast.Slice(lower=None, upper=ast.Constant(0))):
            return True
    return value(node, known) in ([], (), {}, set(), "", range(0))


def value(node, known=()):
    """What this comes to, if that can be said: the value of literals, or of `and` and `or` with one that decides."""
    if isinstance(node, ast.BoolOp):
        parts = [value(part, known) for part in node.values]
        deciding = isinstance(node.op, ast.Or)
        if any(part is not None and bool(part) == deciding for part in parts):
            return deciding
    try:
        code = compile(ast.Expression(node), "literals", "eval")
        return eval(code, {"__builtins__": {"range": range}, **dict(known)}) if fixed(node, known) else None
    except Exception:
        return None


def name(node):
    """The last name of what is called: allclose of np.allclose."""
    return getattr(node, "id", getattr(node, "attr", None))


# Asserts that never run, or may fail unseen


def unreached(found, called):
    """Statements that no run comes to, or whose failure is swallowed, in a list of trees.

    `called`: by others, so that no function is left alone.
    """
    nodes = [node for tree in found for node in ast.walk(tree)]
    used = loaded(nodes)
    methods = {id(method) for node in nodes if isinstance(node, ast.ClassDef) for method in node.body}
    for node in nodes:
        for block in (getattr(node, part, None) for part in ("body", "orelse", "finalbody")):
            if isinstance(block, list):
                ends = next((i for i, statement in enumerate(block) if isinstance(statement, ENDS)), len(block))
                yield from block[ends + 1 :]
        if isinstance(node, ast.FunctionDef) and not (called or node.decorator_list or id(node) in methods):
            inside = loaded(ast.walk(node))
            yield from node.body if used[node.name] == inside[node.name] else ()
        if isinstance(node, ast.With) and any(swallows(item.context_expr) for item in node.items):
            yield from node.body
        if isinstance(node, ast.Try) and any(swallows(handler) for handler in node.handlers):
            yield from node.body
    for tree in found:
        known = settled(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.If | ast.While) and (decided := value(node.test, known)) is not None:
                yield from node.orelse if decided else node.body
            if isinstance(node, ast.For) and empty(node.iter, known):
                yield from node.body


def swallows(node):
    """Does this swallow the error of an assert: suppress(...), or an `except` that does not raise?"""
    match node:
        case ast.Call(func=func, args=errors) if name(func) == "suppress":
            pass
        case ast.ExceptHandler(type=error) if not any(isinstance(n, ast.Raise) for n in ast.walk(node)):
            errors = [error or ast.Name("Exception")]
        case _:
            return False
    return bool(CAUGHT & {name(n) for error in errors for n in ast.walk(error)})


def loaded(nodes):
    """How often each name is read."""
    return Counter(name(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute) and reads(n))


def faults(path):
    """The asserts of a file that claim nothing, or never run, in words."""
    found = trees(path)
    called = path.suffix == ".py"  # pytest calls what no test names
    lost = {id(node) for statement in unreached(found.values(), called) for node in ast.walk(statement)}
    for i, tree in found.items():
        known = settled(tree)
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.Assert)):
            if why := "never runs, or fails unseen" if id(node) in lost else idle(node.test, known):
                place = f"line {node.lineno}" if called else f"cell {i}"
                yield f"{path.name}, {place}: assert {ast.unparse(node.test)[:60]}: {why}"

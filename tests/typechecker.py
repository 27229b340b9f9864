"""How signatures are checked in tests: as written, and an int may stand for a float (PEP 484).

jaxtyping binds all arguments to their names, checks them, and checks them again with the result of the call. Here
they are checked once, and names are bound only where a shape asks for one ("{n}"): a third of the tests' time was that.
"""

import functools
import inspect
import typing

import jaxtyping
from beartype import BeartypeConf, beartype

STRICTNESS = BeartypeConf(is_pep484_tower=True)
checked = beartype(conf=STRICTNESS)
_thorough = jaxtyping.jaxtyped


def jaxtyped(*, typechecker):
    """In place of jaxtyping's decorator of this name, which the import hook writes above each function and class."""

    def decorate(function):
        if not inspect.isfunction(function) or inspect.isgeneratorfunction(function):
            return _thorough(function, typechecker=typechecker)
        shapes = [shape for hint in function.__annotations__.values() for shape in shapes_in(hint)]
        if any("{" in shape for shape in shapes):
            return _thorough(function, typechecker=typechecker)
        strict = typechecker(function)

        @functools.wraps(function)
        def call(*args, **kwargs):
            if jaxtyping.config.jaxtyping_disable:
                return function(*args, **kwargs)
            if not shapes:
                return strict(*args, **kwargs)
            with _thorough("context"):  # of its own: N here is not the N of who called
                return strict(*args, **kwargs)

        return call

    return decorate


def shapes_in(hint):
    """The shapes that stand somewhere in an annotation. What is written as a text may hold any."""
    if isinstance(hint, (str, typing.ForwardRef)):
        yield str(hint)
    elif isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray):
        yield hint.dim_str
    for part in typing.get_args(hint):
        yield from shapes_in(part)


jaxtyping.jaxtyped = jaxtyped

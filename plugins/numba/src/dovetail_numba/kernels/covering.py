"""What a kernel says of itself, and the function that chooses between it and the kernel beneath."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from dovetail_aten.kernel_support import Function
from dovetail_dispatcher.calls.array_errors import broadcast_shape, shape_of_output_error
from dovetail_dispatcher.compilation import compile_source

Large = Callable[..., Any]
"""A kernel for large arrays: it takes the kernel beneath, then the arguments of the operator."""


class Cover(NamedTuple):
    """A kernel for large arrays.

    Attributes
    ----------
    name
        Of the operator, such as ``"add.Tensor"``, or of the helper of derivative bodies.
    large
        The kernel.
    least
        From how many elements on it is called; measured: there it takes no longer than the one
        beneath.
    counted
        Of which argument the elements are counted, by its place.
    is_helper
        Whether it is no operator's.
    writes
        Whether it can write its result into an array, ``out=``, and then returns that.
    """

    name: str
    large: Large
    least: int
    counted: int = 0
    is_helper: bool = False
    writes: bool = False

    @property
    def when(self) -> str:
        """Which calls it computes, in words."""
        return f"dense arrays of at least {self.least} elements by compiled loops"


COVERS: list[Cover] = []
"""All of them, in the order of their modules."""


def over(
    *names: str, least: int, counted: int = 0, writes: bool = False
) -> Callable[[Large], Large]:
    """Mark a function as the kernel for large arrays of the operators `names`: see `Cover`."""

    def mark(large: Large) -> Large:
        COVERS.extend(Cover(name, large, least, counted, writes=writes) for name in names)
        return large

    return mark


def over_helper(name: str, *, least: int, counted: int = 0) -> Callable[[Large], Large]:
    """Mark a function as that for large arrays of a helper of derivative bodies."""

    def mark(large: Large) -> Large:
        COVERS.append(Cover(name, large, least, counted, is_helper=True))
        return large

    return mark


class Parameters(NamedTuple):
    """What an operator is called with.

    Attributes
    ----------
    positional, keywords
        The names of its arguments.
    defaults
        The values of those that have one.
    """

    positional: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = {}

    def declared(self) -> str:
        """Return them as a function declares them, with defaults that are bound by name."""
        names = [*self.positional, *(["*", *self.keywords] if self.keywords else [])]
        return ", ".join(
            [f"{name}=default_{name}" if name in self.defaults else name for name in names]
        )

    def passed(self) -> str:
        """Return them as they are passed on."""
        return ", ".join([*self.positional, *[f"{name}={name}" for name in self.keywords]])

    def bindings(self) -> dict[str, Any]:
        """Return what `declared` needs to be bound."""
        return {f"default_{name}": value for name, value in self.defaults.items()}


def chooser(
    cover: Cover,
    below: Function,
    parameters: Parameters,
    counted: str,
    general: Function | None = None,
) -> Function:
    """Return the function that hands small calls to `below`, at the price of one comparison, and
    others to the kernel for large arrays.

    Parameters
    ----------
    below
        The kernel beneath, as it is called with these arguments.
    parameters
        Those of the function.
    counted
        The parameter whose elements are counted.
    general
        What the kernel for large arrays hands on to; default: `below`.
    """
    name, passed = f"{cover.large.__name__}_or_below", parameters.passed()
    source = (
        f"def {name}({parameters.declared()}):\n"
        f"    if {counted}.size < {cover.least}:\n"
        f"        return below({passed})\n"
        f"    return large(general, {passed})\n"
    )
    bindings = {"below": below, "large": cover.large, "general": silenced(general or below)}
    return _compiled(source, name, cover, {**parameters.bindings(), **bindings})


def writer(cover: Cover, below: Any, parameters: Parameters, counted: str) -> Function:
    """Return the function that writes the result into ``out``, an array.

    Parameters
    ----------
    below
        The kernel beneath; it need not be able to.
    parameters, counted
        As for `chooser`.
    """
    name, passed = f"{cover.large.__name__}_into", parameters.passed()
    into = below.out_function if parameters.keywords == () else below.general_out_function
    small = f"written(out, below({passed}))" if into is None else f"below({passed}, out=out)"
    declared = parameters.declared() + (", out" if parameters.keywords else ", *, out")
    source = (
        f"def {name}({declared}):\n"
        f"    if {counted}.size < {cover.least}:\n"
        f"        return {small}\n"
        f"    made = large(general, {passed}, out=out)\n"
        f"    return made if made is out else written(out, made)\n"
    )
    bindings = {
        "below": below.fn if into is None else into,
        "large": cover.large,
        "general": silenced(below.fn),
        "written": written,
    }
    return _compiled(source, name, cover, {**parameters.bindings(), **bindings})


def _compiled(source: str, name: str, cover: Cover, bindings: dict[str, Any]) -> Function:
    # Without a name for the module, CPython drops warnings of ufuncs that are called from it.
    function: Function = compile_source(source, name, {**bindings, "__name__": None})
    function.__module__, function.__doc__ = cover.large.__module__, cover.large.__doc__
    return function


def written(out: Any, result: Any) -> Any:
    """Write a result into an array, which it may be broadcast to, and return that.

    Raises
    ------
    RuntimeError
        If it has another shape.
    """
    own, shape = tuple(out.shape), tuple(result.shape)
    if shape != own and broadcast_shape([own, shape]) != own:
        raise shape_of_output_error(own, broadcast_shape([own, shape]) or shape)
    np.copyto(out, result, casting="same_kind")
    return out


def silenced(function: Function) -> Function:
    """Return a function that keeps NumPy's warnings to itself wherever it is called from."""

    @wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return quiet


__all__ = [
    "COVERS",
    "Cover",
    "Large",
    "Parameters",
    "chooser",
    "over",
    "over_helper",
    "writer",
]

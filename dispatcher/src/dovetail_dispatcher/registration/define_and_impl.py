"""`define` and `impl`: define operators and register kernels by name, without a `Library`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

from ..table.tags import Tag
from ..table.updates.changes import together
from .library import Library
from .operator_names import key_name, library_for, split_name


@singledispatch
def define(
    qualname: object,
    schema: str,
    *,
    lib: Library | None = None,
    tags: Tag | Sequence[Tag] = (),
    override: bool = False,
) -> Any:
    """Define an operator.

    Parameters
    ----------
    qualname
        ``"namespace::name"``, with ``".overload"`` for an overload.
    schema
        ``"(Tensor x) -> Tensor"``.
    lib
        Library that owns the definition; default: the definition is permanent.
    tags
        Properties of the operator.
    override
        Replace a definition by other code.

    Raises
    ------
    ValueError
        If `qualname` has no namespace, or `schema` does not begin with the arguments.
    RuntimeError
        As `Library.define`.

    Notes
    -----
    ``define(lib, schema)`` is a decorator: the function is the operator's CompositeImplicitAutograd
    kernel.
    """
    if not isinstance(qualname, str):
        raise ValueError(
            "define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    namespace, name = split_name(qualname)
    if not re.match(r"\(.*\) -> .*", schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> '
            f'Tensor" but got "{schema}". Leave the name out of it.'
        )
    library_for(namespace, lib).define(f"{name}{schema}", tags=tags, override=override)


@define.register
def _(
    lib: Library, schema: str, alias_analysis: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(fn: Callable[..., object]) -> Callable[..., Any]:
        lib.impl(lib.define(schema, alias_analysis), fn)
        return fn

    return register


@singledispatch
def impl(
    qualname: object,
    types: str | Sequence[str],
    func: Callable[..., object] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel that takes and returns tensors; usable as a decorator (which returns None,
    as in PyTorch).

    Parameters
    ----------
    qualname
        ``"namespace::name"`` of an operator.
    types
        Device types, "default" for every device, or names of dispatch keys; one or several.
    func
        The kernel.
    lib
        Library that owns the registration; default: the registration is permanent.

    Raises
    ------
    ValueError
        If `qualname` has no namespace.
    RuntimeError
        For an unknown device type, or as `Library.impl`.

    Notes
    -----
    ``impl(lib, name, dispatch_key="")`` is a decorator that returns the function.
    """
    if not isinstance(qualname, str):
        raise AttributeError(
            "impl(qualname, types): expected a str or a Library, but got "
            f"{type(qualname).__name__}."
        )
    namespace, name = split_name(qualname)
    keys = list(
        dict.fromkeys(key_name(each) for each in ([types] if isinstance(types, str) else types))
    )

    def register(fn: Callable[..., object]) -> None:
        owner = library_for(namespace, lib)
        with together(owner._changes):
            for key in keys:
                owner.impl(name, fn, key)

    return register if func is None else register(func)


@impl.register
def _(
    lib: Library, name: str, dispatch_key: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(fn: Callable[..., object]) -> Callable[..., Any]:
        lib.impl(name, fn, dispatch_key)
        return fn

    return register

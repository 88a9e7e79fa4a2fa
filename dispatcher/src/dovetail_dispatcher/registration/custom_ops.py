"""`custom_op`: makes an operator of one Python function; its annotations give the schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, overload

from ..schema import infer_schema, parse_schema
from ..table import registry
from ..table.registrars import provider_name
from ..table.tags import Tag, checked_tags
from .custom_op_checks import MutatesArgs, check_callable, check_keyword_tensors, check_mutated
from .custom_op_definition import CustomOpDef, DeviceTypes

_definitions: Final[dict[str, list[CustomOpDef]]] = {}
"""The custom ops by qualified name, those last that cover others."""


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: MutatesArgs,
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
    override: bool = False,
) -> Callable[[Callable[..., Any]], CustomOpDef]: ...


@overload
def custom_op(
    name: str,
    fn: Callable[..., object],
    /,
    *,
    mutates_args: MutatesArgs,
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
    override: bool = False,
) -> CustomOpDef: ...


def custom_op(
    name: str,
    fn: Callable[..., object] | None = None,
    /,
    *,
    mutates_args: MutatesArgs,
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
    override: bool = False,
) -> Any:
    """Turn a function into an operator; usable as a decorator.

    Parameters
    ----------
    name
        ``"namespace::name"``.
    fn
        The implementation. Its results must not share memory with its arguments; every call checks
        this.
    mutates_args
        Names of the arguments that `fn` writes to, or "unknown" for all tensors.
    device_types
        The device types that `fn` supports; default: every device.
    schema
        ``"(Tensor x) -> Tensor"``; default: inferred from the annotations of `fn`.
    tags
        Properties of the operator.
    override
        Replace an operator of the same name defined by other code, until this one is destroyed.

    Returns
    -------
    CustomOpDef
        The operator. An earlier operator from the same function (``module:qualname``) is destroyed,
        so that modules can be reloaded and notebook cells run again.

    Raises
    ------
    ValueError
        For a name without a namespace, for unsupported annotations, or if the schema contradicts
        `mutates_args`.
    NotImplementedError
        For keyword-only tensors (without ``Tag.out``).
    RuntimeError
        If other code has defined the operator.
    """
    namespace, separator, op_name = name.partition("::")
    if not separator or not namespace or not op_name:
        raise ValueError(
            f"not enough values to unpack: custom_op({name!r}) needs a namespace. Call it "
            f"{_with_namespace(name)!r}, say."
        )

    def make(fn: Callable[..., Any]) -> CustomOpDef:
        check_callable(fn)
        given = checked_tags(() if tags is None else tags)
        text = infer_schema(fn, mutates_args=mutates_args, tags=given) if schema is None else schema
        parsed = parse_schema(f"{name}{text}", allow_typevars=False)
        if schema is not None:
            check_mutated(parsed, schema, mutates_args)
        check_keyword_tensors(parsed, given)
        with registry.lock:
            old = find_custom_op(name)
            if old is not None and provider_name(old._init_fn) == provider_name(fn):
                old._lib._destroy()
            made = CustomOpDef(parsed, fn, (Tag.pt2_compliant_tag, *given), device_types, override)
            _definitions[name] = [
                *(each for each in _definitions.get(name, ()) if not each._lib._destroyed),
                made,
            ]
        return made

    return make if fn is None else make(fn)


def find_custom_op(qualified: str) -> CustomOpDef | None:
    """Return the live custom op called `qualified` (``ns::name``), or None."""
    live = [
        each
        for each in _definitions.get(qualified.removesuffix(".default"), ())
        if not each._lib._destroyed
    ]
    return live[-1] if live and live[-1]._operator.definition is live[-1]._definition else None


def _with_namespace(name: str) -> str:
    """Return a name that could be meant by one without a namespace."""
    namespace, _, rest = name.replace("::", "").partition(".")
    return f"{namespace}::{rest}" if namespace and rest else f"mylib::{namespace or rest or 'name'}"

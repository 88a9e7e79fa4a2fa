"""Text of routes that call a tensor kernel: hand over the arguments as PyTorch does, check what
comes back.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from dovetail_kernel import DispatchKeySet, bump_version, set_state, state, tensor_class
from dovetail_kernel.keys.state import below_autograd

from ...schema import Argument, FunctionSchema, default_of
from ...table.kernels import Kernel
from ...table.operator import Operator
from ...table.tags import Tag
from ..fake_context import FakeImplCtx, enter_fake, leave_fake
from ..returns import check_aliases, checked_return, checked_tensor, wrong_identity
from .arguments import OPTIONAL_TENSOR, TENSOR, is_tensor_like, spelling
from .arguments import route_parameter as parameter
from .entry import symbol
from .source import RouteText


def tensor_route(op: Operator, kernel: Kernel, keys: DispatchKeySet) -> RouteText:
    """Return the route that calls `kernel` with tensors; `keys` is what a ``with_keyset`` kernel
    receives.
    """
    schema = op.schema
    first = ["KEYS"] if kernel.with_keyset else []
    bindings: dict[str, Any] = {"kernel": kernel.fn, "KEYS": keys}
    takes_all = takes_all_arguments(kernel, schema)
    if takes_all:
        positional = [parameter(a) for a in schema.arguments if not a.kwarg_only]
        keyword = [f"{a.name}={parameter(a)}" for a in schema.arguments if a.kwarg_only]
        call = f"kernel({', '.join([*first, *positional, *keyword])})"
    else:
        bindings["stripped"] = partial(strip_defaults, schema)
        call = f"kernel({', '.join([*first, '*args'])}, **kwargs)"
    text = _route(op, call, bindings, check=not kernel.returns_by_schema)
    if (
        kernel.returns_by_schema
        and takes_all
        and not first
        and not any(a.kwarg_only for a in schema.arguments)
    ):
        text.amounts_to = kernel.fn
    if not takes_all:
        text.lines.insert(
            0, f"args, kwargs = stripped({', '.join(map(parameter, schema.arguments))})"
        )
    return text


def custom_route(op: Operator, kernel: Kernel, keys: DispatchKeySet) -> RouteText:
    """Return the route of a `custom_op`: a tensor kernel whose results are checked for memory
    shared with arguments.

    A new tensor has no storage object yet, so in the common case one look at each tensor suffices.
    """
    text = tensor_route(op, kernel, keys)
    schema = op.schema
    if Tag.inplace in op.tags or Tag.out in op.tags:
        written = [parameter(a) for a in schema.arguments if a.is_write]
        same = " and ".join(
            f"{r} is {name}" for r, name in zip(_items(len(written)), written, strict=True)
        )
        text.bindings["wrong_identity"] = partial(wrong_identity, op, kernel)
        text.lines += [f"if not ({same}):", "    raise wrong_identity()"]
        return text
    if schema._is_view_op() or not schema.returns or any(r.alias_info for r in schema.returns):
        return text
    tensors = [parameter(a) for a in schema.arguments if is_tensor_like(a)]
    text.bindings["check_aliases"] = partial(check_aliases, op, kernel)
    check = f"check_aliases(result, ({', '.join(tensors)}{',' if len(tensors) == 1 else ''}))"
    plain = all(
        spelling(a) in (TENSOR, OPTIONAL_TENSOR) for a in schema.arguments if is_tensor_like(a)
    )
    if [spelling(r) for r in schema.returns] == [TENSOR] and plain:
        tests = [
            "result is None or result._storage is not None",
            *(f"result is {name}" for name in tensors),
        ]
        text.lines += [f"if {' or '.join(tests)}:", f"    {check}"]
    elif any(is_tensor_like(r) for r in schema.returns):
        text.lines.append(check)
    return text


def fake_route(op: Operator, kernel: Kernel, keys: DispatchKeySet) -> RouteText:
    """Return the route of a fake kernel: a tensor kernel that may ask for its context with
    `get_ctx`.
    """
    text = tensor_route(op, kernel, keys)
    text.bindings.update(
        enter_fake=enter_fake, leave_fake=leave_fake, CONTEXT=FakeImplCtx(op, kernel)
    )
    text.lines[:] = ["outer = enter_fake(CONTEXT)", "try:", *[f"    {line}" for line in text.lines]]
    text.lines += ["finally:", "    leave_fake(outer)"]
    return text


def _items(count: int) -> list[str]:
    return ["result"] if count == 1 else [f"result[{i}]" for i in range(count)]


def counting_route(op: Operator, below: RouteText) -> RouteText:
    """Return `below` with the versions of the written arguments counted up before anything else."""
    lines: list[str] = []
    for argument in op.schema.arguments:
        if argument.is_write and is_tensor_like(argument):
            name = parameter(argument)
            match spelling(argument):
                case "Tensor":
                    lines.append(f"bump_version({name})")
                case "Tensor?":
                    lines += [f"if {name} is not None:", f"    bump_version({name})"]
                case _:
                    lines += [
                        f"for each in {name}:",
                        "    if each is not None:",
                        "        bump_version(each)",
                    ]
    below.bindings["bump_version"] = bump_version
    below.lines[:0] = lines
    return below


def below_autograd_route(below: RouteText) -> RouteText:
    """Return `below` run in a state in which the calls that it makes are not recorded."""
    below.bindings.update(state=state, set_state=set_state, below_autograd=below_autograd)
    body = [f"    {line}" for line in below.lines] or ["    pass"]
    below.lines[:] = ["before = state()", "set_state(below_autograd(before))", "try:", *body]
    below.lines += ["finally:", "    set_state(before)"]
    return below


def boxed_route(op: Operator, kernel: Kernel, keys: DispatchKeySet) -> RouteText:
    """Return the route that calls a backend fallback: it takes the operator, then the arguments."""
    schema = op.schema
    first = ["KEYS", "OP"] if kernel.with_keyset else ["OP"]
    text = _route(
        op,
        f"kernel({', '.join([*first, '*args'])}, **kwargs)",
        {
            "kernel": kernel.fn,
            "KEYS": keys,
            "OP": op.handle,
            "stripped": partial(strip_defaults, schema),
        },
    )
    text.lines.insert(0, f"args, kwargs = stripped({', '.join(map(parameter, schema.arguments))})")
    return text


def wrapped_route(op: Operator, kernel: Kernel) -> RouteText:
    """Return the route that calls the fallback of wrapped tensors: it takes the operator, then
    every argument.
    """
    positional = "".join([f"{parameter(a)}, " for a in op.schema.arguments if not a.kwarg_only])
    keyword = ", ".join(
        [f"{a.name!r}: {parameter(a)}" for a in op.schema.arguments if a.kwarg_only]
    )
    bindings = {"kernel": kernel.fn, "OVERLOAD": op.handle}
    return _route(op, f"kernel(OVERLOAD, ({positional}), {{{keyword}}})", bindings, check=False)


def opaque_route(op: Operator, route: Any) -> RouteText:
    """Return the route that calls another route."""
    call = f"below({', '.join(map(parameter, op.schema.arguments))})"
    return _route(op, call, {"below": route}, check=False)


def _route(op: Operator, call: str, bindings: dict[str, Any], *, check: bool = True) -> RouteText:
    schema = op.schema
    text = RouteText(symbol(schema), [parameter(a) for a in schema.arguments], bindings=bindings)
    text.lines.append(f"result = {call}")
    if check:
        if [spelling(r) for r in schema.returns] == [TENSOR]:
            text.bindings.update(Tensor=tensor_class(), checked=partial(checked_tensor, op))
            text.lines += ["if result.__class__ is not Tensor:", "    result = checked(result)"]
        else:
            text.bindings.update(checked=partial(checked_return, op))
            text.lines.append("result = checked(result)")
    text.results = ["result"]
    return text


def takes_all_arguments(kernel: Kernel, schema: FunctionSchema) -> bool:
    """Return whether a kernel may simply be given every argument, because its own defaults equal
    the schema's.

    Otherwise it must be called as PyTorch calls it, with the arguments that equal their default
    left out, so that its own defaults win.
    """
    try:
        parameters = inspect.signature(kernel.fn).parameters
    except (TypeError, ValueError):
        return False
    names = list(parameters)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return False
    positional = [a for a in schema.arguments if not a.kwarg_only]
    offset = 1 if kernel.with_keyset else 0
    if len(names) < offset + len(schema.arguments):
        return False
    for position, argument in enumerate(positional, offset):
        own = parameters[names[position]]
        if own.kind is own.KEYWORD_ONLY or not _same_default(own, argument):
            return False
    return all(
        a.name in parameters and _same_default(parameters[a.name], a)
        for a in schema.arguments
        if a.kwarg_only
    )


def _same_default(own: inspect.Parameter, argument: Argument) -> bool:
    return (
        own.default is own.empty
        or not argument.has_default_value()
        or equals_default(argument, own.default)
    )


def strip_defaults(schema: FunctionSchema, *values: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return a call's arguments without those equal to their default: trailing positional, and
    keyword-only ones.
    """
    positional = [(a, v) for a, v in zip(schema.arguments, values, strict=True) if not a.kwarg_only]
    while positional and equals_default(*positional[-1]):
        positional.pop()
    keyword = {
        a.name: v
        for a, v in zip(schema.arguments, values, strict=True)
        if a.kwarg_only and not equals_default(a, v)
    }
    return [v for _, v in positional], keyword


def equals_default(argument: Argument, value: Any) -> bool:
    """Return whether `value` is the default of an argument, as written in the schema or as a kernel
    receives it.
    """
    if not argument.has_default_value():
        return False
    return _same(value, argument.default_value) or _same(value, default_of(argument))


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if isinstance(value, list | tuple):
        return isinstance(default, list | tuple) and tuple(value) == tuple(default)
    return type(value) is type(default) and bool(value == default)

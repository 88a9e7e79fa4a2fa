"""Text of entries: the functions that check a call's arguments, make its key and run its route.

Every entry has the same shape::

    def add_Tensor(self=MISSING, other=MISSING, *extra, alpha=1, **unknown):
        if extra or unknown or alpha.__class__ is not int and alpha.__class__ is not float:
            return miss(add_Tensor_op, (self, other, *extra), {"alpha": alpha, **unknown})
        try:
            cls = other.__class__
            if cls in SCALAR_BITS:
                route = add_Tensor_routes[self._signature | SCALAR_BITS[cls] | state()]
            else:
                route = add_Tensor_routes[self._signature | other._signature | state()]
        except (KeyError, AttributeError, TypeError):
            pass
        else:
            return route(self, other, alpha)
        return miss(add_Tensor_op, (self, other), {"alpha": alpha})

`miss` binds with every check and cast, composes the route if there is none, and explains what is
wrong with the call.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...schema import FunctionSchema
from ...schema.function_schema import OPTIONAL_TENSOR_LIST, TENSOR, TENSOR_LIST
from .arguments import INT_LISTS, class_test, default_text, local, parameter

INDENT = "    "


def symbol(schema: FunctionSchema) -> str:
    """Return the name of an overload in generated text: ``add_Tensor``, ``add`` for the default
    overload.
    """
    base = schema.name.rpartition("::")[2]
    return f"{base}_{schema.overload_name}" if schema.overload_name else base


def entry_source(schema: FunctionSchema, promote: Collection[str] = ()) -> str:
    """Return the text of the entry behind an `OpOverload`.

    It takes whatever it is given, so that a call that does not fit raises PyTorch's RuntimeError,
    not a TypeError.

    Parameters
    ----------
    promote
        Names of the arguments that take part in promotion (pointwise operators). Where these are
        two tensors, a Python number may stand for the second.

    Notes
    -----
    The text names ``MISSING``, ``SCALAR_BITS``, ``DType``, ``Device``, ``Layout``,
    ``MemoryFormat``, ``are_ints``, ``miss``, ``shorten_traceback``, ``state`` and, of
    the operator, ``<symbol>_op`` and ``<symbol>_routes``.
    """
    positional = [a for a in schema.arguments if not a.kwarg_only]
    keyword = [a for a in schema.arguments if a.kwarg_only]
    parameters = [
        f"{parameter(a)}={default_text(a) if a.has_default_value() else 'MISSING'}"
        for a in positional
    ]
    parameters.append("*extra")
    parameters += [
        f"{parameter(a)}={default_text(a) if a.has_default_value() else 'MISSING'}" for a in keyword
    ]
    parameters.append("**unknown")
    refused = ["extra", "unknown"]
    return with_short_traceback(compose_entry(schema, symbol(schema), parameters, refused, promote))


def compose_entry(
    schema: FunctionSchema,
    name: str,
    parameters: Sequence[str],
    refused: Sequence[str],
    promote: Collection[str],
    *,
    first: Sequence[str] = (),
    public: str = "",
    named: str = "",
    returns_list: bool = False,
    is_operator: bool = False,
) -> str:
    """Return the source of a function `name` that calls the operator.

    Parameters
    ----------
    parameters
        Text of the parameters.
    refused
        Names of the parameters that must be empty: ``extra`` and ``unknown``, or none.
    promote
        As for `entry_source`.
    first
        First lines of the body.
    public
        Source text of the public function, passed to overriding classes and modes; default: the
        `OpOverload`.
    named
        Name of the function that converts the results to a named tuple; default: a plain tuple.
    returns_list
        Whether the operator returns a list of tensors, which the function returns as a tuple.
    is_operator
        Whether the function is a binary operator of Python: it takes two operands, and returns
        NotImplemented if one of them is not an operand of `public`.
    """
    own = symbol(schema)
    arguments = schema.arguments
    positional = [parameter(a) for a in arguments if not a.kwarg_only]
    keywords = [f'"{a.name}": {parameter(a)}' for a in arguments if a.kwarg_only]
    surplus = bool(refused)
    given = [*positional, "*extra"] if surplus else positional
    args = f"({', '.join(given)}{',' if given else ''})"
    kwargs = f"{{{', '.join([*keywords, '**unknown'] if surplus else keywords)}}}"
    missed = f"miss({own}_op, {args}, {kwargs}{f', {public}' if public else ''})"
    values = [local(a) for a in arguments]
    if is_operator:
        missed = f"operate({', '.join([public, *positional])})"
        values = [default_text(a) if a.kwarg_only else local(a) for a in arguments]
    found = f"route({', '.join(values)})"
    if returns_list:
        found = f"tuple({found})"  # and so does `miss`, for public functions
    if named:
        missed, found = f"{named}({missed})", f"{named}({found})"
    refusal = f"return {missed}"

    lines = list(first)
    for argument in arguments:
        kind = argument.kind.removesuffix("?")
        if kind in INT_LISTS:
            value = parameter(argument)
            ints = f"tuple({value}) if {value}.__class__ is list else {value}"
            if argument.N is not None:
                repeated = f"({value},)" if argument.N == 1 else f"({value},) * {argument.N}"
                ints = f"{repeated} if {value}.__class__ is int else {ints}"
            lines.append(f"{local(argument)} = {ints}")
    tests = [
        *refused,
        *(test for a in arguments if not (is_operator and a.kwarg_only) for test in class_test(a)),
    ]
    lists = [a for a in arguments if a.kind in (TENSOR_LIST, OPTIONAL_TENSOR_LIST)]
    tests += [
        f"{parameter(a)}.__class__ is not list and {parameter(a)}.__class__ is not tuple"
        for a in lists
    ]
    if tests:
        lines += [f"if {' or '.join(tests)}:", INDENT + refusal]
    lines += ["try:", *(INDENT + line for line in _route_lines(schema, own, promote))]
    lines += ["except (KeyError, AttributeError, TypeError):", f"{INDENT}pass"]
    lines += ["else:", f"{INDENT}return {found}", refusal]
    body = "\n".join(INDENT + line for line in lines)
    return f"def {name}({', '.join(parameters)}):\n{body}\n"


def with_short_traceback(text: str) -> str:
    """Return the text of a function that removes the frames of Dovetail from the tracebacks of its
    errors.

    Notes
    -----
    The text uses ``shorten_traceback``. It costs nothing without an error.
    """
    head, _, body = text.partition("\n")
    lines = [f"{INDENT}try:", *(INDENT + line for line in body.splitlines())]
    lines += [f"{INDENT}except Exception as error_:", f"{INDENT * 2}shorten_traceback(error_)"]
    lines.append(f"{INDENT * 2}raise")
    return "\n".join([head, *lines]) + "\n"


def numbers_allowed(schema: FunctionSchema, promote: Collection[str]) -> bool:
    """Return whether the second of two tensors may be a Python number: if exactly these two
    arguments are promoted.
    """
    inputs = [a for a in schema.arguments if not a.is_out]
    tensors = [a for a in inputs if a.is_tensor_like]
    return (
        len(promote) == 2
        and len(tensors) == 2
        and list(promote) == [a.name for a in tensors if a.kind == TENSOR]
    )


def _route_lines(schema: FunctionSchema, own: str, promote: Collection[str]) -> list[str]:
    """Return the lines that look up the route of a call whose arguments passed the class tests."""
    tensors = [a for a in schema.arguments if a.is_tensor_like]
    plain = [f"{parameter(a)}._signature" for a in tensors if a.kind == TENSOR]
    others = [a for a in tensors if a.kind != TENSOR]
    if numbers_allowed(schema, promote):
        second = plain[1]
        rest = [text for text in plain if text != second]
        return [
            f"cls = {second.removesuffix('._signature')}.__class__",
            "if cls in SCALAR_BITS:",
            f"{INDENT}route = {own}_routes[{' | '.join([*rest, 'SCALAR_BITS[cls]', 'state()'])}]",
            "else:",
            f"{INDENT}route = {own}_routes[{' | '.join([*plain, 'state()'])}]",
        ]
    scalars = [a for a in schema.arguments if a.name in promote and a.kind in ("Scalar", "Scalar?")]
    plain += [f"SCALAR_BITS[{parameter(a)}.__class__]" for a in scalars if a.kind == "Scalar"]
    others += [a for a in scalars if a.kind == "Scalar?"]
    if not others:
        return [f"route = {own}_routes[{' | '.join([*plain, 'state()'])}]"]
    lines = [f"bits = {' | '.join([*plain, 'state()'])}"]
    for argument in others:
        local = parameter(argument)
        match argument.kind:
            case "Scalar?":
                lines += [
                    f"if {local} is not None:",
                    f"{INDENT}bits |= SCALAR_BITS[{local}.__class__]",
                ]
            case "Tensor?":
                lines += [f"if {local} is not None:", f"{INDENT}bits |= {local}._signature"]
            case "Tensor[]":
                lines += [f"for each in {local}:", f"{INDENT}bits |= each._signature"]
            case _:
                lines += [f"for each in {local}:", f"{INDENT}if each is not None:"]
                lines += [f"{INDENT * 2}bits |= each._signature"]
    lines.append(f"route = {own}_routes[bits]")
    return lines

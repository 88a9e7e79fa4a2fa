"""Writes the functions that tell the overloads of a name apart: by number and classes of the
arguments where that says it, else by trying one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail_dispatcher.schema import Argument

from ...templates.python_function import python_schema, variadic_argument
from ..overload_sets import OverloadSet, function_name
from ..readers.native_functions import NativeFunction
from .text import INDENT, bracketed


def choice(overloads: OverloadSet) -> list[str]:
    """Return the table of the overloads and the function that chooses among them."""
    name = overloads.name
    first = overloads.overloads[0]
    lines = bracketed(
        f'_{name}_overloads = Overloads("{first.schema.name}", {{',
        [_entry(function, overloads) for function in overloads.overloads],
        "})",
    )
    lines.append(f"def {name}(*args, **kwargs):")
    if tests := _tests(overloads):
        lines += [f"{INDENT}if not kwargs:", f"{INDENT * 2}count = len(args)"]
        lines += [INDENT * 2 + line for line in tests]
    return [*lines, f"{INDENT}return _{name}_overloads.choose(args, kwargs)"]


def operator_choice(overloads: OverloadSet, name: str) -> list[str]:
    """Return the binary operator `name`, which chooses an overload by its second operand."""
    lines = [f"def {name}(input, other):"]
    for condition, function in _branches(overloads, 2):
        tests = [each for each in condition.split(" and ") if "args[0].__class__" not in each]
        if len(tests) < len(condition.split(" and ")):
            continue  # the first operand is a number: the reflected operator
        test = " and ".join([each for each in tests if "args[0]" not in each])
        call = f"return {function}(input, other)"
        lines.append(f"{INDENT}if {test.replace('args[1]', 'other')}:")
        lines.append(f"{INDENT * 2}{call}")
    return [*lines, f"{INDENT}return operate({overloads.name}, input, other)"]


def _entry(function: NativeFunction, overloads: OverloadSet) -> str:
    out = overloads.out_of(function)
    runs = function_name(overloads.run_by(function))
    writes = None if out is None else function_name(out)
    return f'"{function.schema.overload_name}": ({runs}, {writes})'


def _tests(overload_set: OverloadSet) -> list[str]:
    """Return the lines that choose by the number of positional arguments and their classes."""
    overloads = overload_set.overloads
    lines: list[str] = []
    for function in overloads:
        if variadic_argument(python_schema(function.schema)) is not None:
            ints = 2 if any([_takes_one_int(other) for other in overloads]) else 1
            lines.append(f"if count > {ints} and args[1].__class__ is int:")
            lines.append(f"{INDENT}return {function_name(function)}(*args)")
    for count in range(max([len(_positional(f)) for f in overloads]) + 1):
        branches = list(_branches(overload_set, count))
        if not branches:
            continue
        if not branches[0][0]:
            lines += [f"if count == {count}:", f"{INDENT}return {branches[0][1]}(*args)"]
            continue
        lines.append(f"if count == {count}:")
        for condition, name in branches:
            call = f"return {name}(*args)"
            lines += (
                [f"{INDENT}if {condition}:", f"{INDENT * 2}{call}"]
                if condition
                else [INDENT + call]
            )
    return lines


def _branches(overload_set: OverloadSet, count: int) -> Iterator[tuple[str, str]]:
    """Yield condition and function of the overloads that take `count` positional arguments.

    An empty condition is the last. Neighbours with one function share a condition.
    """
    fitting = [f for f in overload_set.overloads if _accepts(f, count)]
    arguments = [_positional(f) for f in fitting]
    differing = [i for i in range(count) if len({a[i].real_type.schema_str for a in arguments}) > 1]
    # Lists of several kinds are told apart by what is in them: the slow way.
    lists = {i for i in differing if len({k for a in arguments if (k := _list_kind(a[i]))}) > 1}
    branches: list[tuple[str, str]] = []
    for function, own in zip(fitting, arguments, strict=True):
        tests = [
            None
            if i in lists and _list_kind(own[i])
            else _class_test(f"args[{i}]", own[i].real_type.schema_str)
            for i in differing
        ]
        if None in tests:
            continue
        condition = " and ".join([test for test in tests if test])
        name = function_name(overload_set.run_by(function))
        if branches and branches[-1][1] == name and condition and " and " not in condition:
            condition = f"{branches.pop()[0]} or {condition}"
        branches.append((condition, name))
        if not condition:
            break
    return iter(branches)


def _list_kind(argument: Argument) -> str:
    """Return the type of a list without its size; nothing for what is none."""
    kind = argument.real_type.schema_str.removesuffix("?")
    return kind.partition("[")[0].removeprefix("Sym") if kind.endswith("]") else ""


def _takes_one_int(function: NativeFunction) -> bool:
    """Return whether a call with one int behind ``self`` is the overload's: ``squeeze.dim``, not
    ``squeeze.dims``.
    """
    return [a.real_type.schema_str for a in _positional(function)[1:]] in (["int"], ["SymInt"])


def _positional(function: NativeFunction) -> Sequence[Argument]:
    return [a for a in function.schema.arguments if not a.kwarg_only]


def _accepts(function: NativeFunction, count: int) -> bool:
    required = [a for a in function.schema.arguments if not a.has_default_value()]
    if any([a.kwarg_only for a in required]):
        return False
    return len(required) <= count <= len(_positional(function))


def _class_test(value: str, kind: str) -> str | None:
    """Return the condition that `value` is plainly of a schema type; None if no class says so."""
    optional = kind.endswith("?")
    match kind.removesuffix("?"):
        case "Tensor":
            test = f"isinstance({value}, TensorBase)"
        case "Scalar":
            test = f"{value}.__class__ in NUMBERS"
        case "int" | "SymInt":
            test = f"{value}.__class__ is int"
        case "bool":
            test = f"{value}.__class__ is bool"
        case "float":
            test = f"{value}.__class__ is float"
        case "ScalarType":
            test = f"{value}.__class__ is DType"
        case "int[]" | "SymInt[]":
            test = f"isinstance({value}, (tuple, list))"
        case _:
            return None
    return f"({value} is None or {test})" if optional else test

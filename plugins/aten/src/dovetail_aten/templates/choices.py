"""Text of the functions that tell the overloads of a name apart: by number and classes of the
arguments where that says it, else by trying one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dovetail_dispatcher.calls import INDENT
from dovetail_dispatcher.schema import Argument, FunctionSchema

from .python_function import python_schema, variadic_argument


class Candidate(NamedTuple):
    """One overload of a name, in the order in which they are tried.

    Attributes
    ----------
    schema
        Its schema.
    function
        Name of the function that runs it.
    """

    schema: FunctionSchema
    function: str


def choice_source(name: str, table: str, candidates: Sequence[Candidate]) -> str:
    """Return the text of the function `name`; calls that it does not see through go to the
    `Overloads` called `table`.
    """
    lines = [f"def {name}(*args, **kwargs):"]
    if tests := _tests(candidates):
        lines += [f"{INDENT}if not kwargs:", f"{INDENT * 2}count = len(args)"]
        lines += [INDENT * 2 + line for line in tests]
    return "\n".join([*lines, f"{INDENT}return {table}.choose(args, kwargs)"]) + "\n"


def operator_choice_source(name: str, function: str, candidates: Sequence[Candidate]) -> str:
    """Return the text of the binary operator `name`, which chooses an overload of `function` by its
    second operand.
    """
    lines = [f"def {name}(input, other):"]
    for condition, chosen in _branches(candidates, 2):
        tests = [each for each in condition.split(" and ") if "args[0].__class__" not in each]
        if len(tests) < len(condition.split(" and ")):
            continue  # the first operand is a number: the reflected operator
        test = " and ".join([each for each in tests if "args[0]" not in each])
        call = f"return {chosen}(input, other)"
        lines.append(f"{INDENT}if {test.replace('args[1]', 'other')}:")
        lines.append(f"{INDENT * 2}{call}")
    return "\n".join([*lines, f"{INDENT}return operate({function}, input, other)"]) + "\n"


def _tests(candidates: Sequence[Candidate]) -> list[str]:
    """Return the lines that choose by the number of positional arguments and their classes."""
    lines: list[str] = []
    for each in candidates:
        if variadic_argument(python_schema(each.schema)) is not None:
            ints = 2 if any([_takes_one_int(other) for other in candidates]) else 1
            lines.append(f"if count > {ints} and args[1].__class__ is int:")
            lines.append(f"{INDENT}return {each.function}(*args)")
    for count in range(max([len(_positional(each)) for each in candidates]) + 1):
        branches = list(_branches(candidates, count))
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


def _branches(candidates: Sequence[Candidate], count: int) -> Iterator[tuple[str, str]]:
    """Yield condition and function of the overloads that take `count` positional arguments.

    An empty condition is the last. Neighbours with one function share a condition.
    """
    fitting = [each for each in candidates if _accepts(each, count)]
    arguments = [_positional(each) for each in fitting]
    differing = [i for i in range(count) if len({a[i].real_type.schema_str for a in arguments}) > 1]
    # Lists of several kinds are told apart by what is in them: the slow way.
    lists = {i for i in differing if len({k for a in arguments if (k := _list_kind(a[i]))}) > 1}
    branches: list[tuple[str, str]] = []
    for (_, name), own in zip(fitting, arguments, strict=True):
        tests = [
            None
            if i in lists and _list_kind(own[i])
            else _class_test(f"args[{i}]", own[i].real_type.schema_str)
            for i in differing
        ]
        if None in tests:
            continue
        condition = " and ".join([test for test in tests if test])
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


def _takes_one_int(candidate: Candidate) -> bool:
    """Return whether a call with one int behind ``self`` is the overload's: ``squeeze.dim``, not
    ``squeeze.dims``.
    """
    return [a.real_type.schema_str for a in _positional(candidate)[1:]] in (["int"], ["SymInt"])


def _positional(candidate: Candidate) -> Sequence[Argument]:
    return [a for a in candidate.schema.arguments if not a.kwarg_only]


def _accepts(candidate: Candidate, count: int) -> bool:
    required = [a for a in candidate.schema.arguments if not a.has_default_value()]
    if any([a.kwarg_only for a in required]):
        return False
    return len(required) <= count <= len(_positional(candidate))


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

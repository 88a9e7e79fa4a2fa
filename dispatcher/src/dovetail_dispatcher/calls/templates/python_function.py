"""Text of the functions that users call by name: an overload with a Python signature.

``self`` is called ``input``, sizes may be spelled out (``x.view(2, 3)``), and results may have
names. In-place and out variants and what is rarely called have a short text as well, which is in
the file::

    def neg_(input): return complete(neg_, "aten::neg_", "")(input)

`complete` gives the function its real body at the first call, from this very template.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...schema import Argument, FunctionSchema
from .arguments import parameter
from .entry import (
    INDENT,
    declared,
    name_parameters,
    name_source,
    old_parameters,
    passed_on,
    symbol,
)
from .numpy_names import SURPLUS, by_name, numpy_names


class PythonFunction:
    """One overload as a Python function.

    Parameters
    ----------
    schema
        The operator's schema.
    promote
        Arguments that take part in promotion.
    name
        Name of the function.
    out
        Name of the function to go to when ``out=`` is given; None where there is no such variant.
    outs
        Names of the tensors that it writes, where that is not ``out`` alone: ``out=`` is a tuple of
        several.
    is_operator
        Whether it is one of Python's binary operators, ``__add__``.
    takes_old
        How many arguments more overloads of old have, which it takes too: ``add(x, 2, y)``.
    takes_numpy
        Whether it takes its arguments by NumPy's names too: ``cat(tensors, axis=1)``.
    """

    def __init__(
        self,
        schema: FunctionSchema,
        promote: Collection[str],
        name: str,
        *,
        out: str | None = None,
        outs: Sequence[str] = (),
        is_operator: bool = False,
        takes_old: int = 0,
        takes_numpy: bool = False,
    ) -> None:
        self.schema = schema
        self.promote = promote
        self.name = name
        self.out = out
        self.outs = outs
        self.is_operator = is_operator
        self.takes_old = takes_old
        self.numpy: dict[str, str] = {}
        if takes_numpy:
            self.numpy = numpy_names(python_schema(schema))

    def source(self) -> str:
        """Return the text of the function."""
        schema = python_schema(self.schema)
        renamed = schema is not self.schema
        return name_source(
            schema,
            self.name,
            ["input" if renamed and name == "self" else name for name in self.promote],
            out=self.out,
            outs=self.outs,
            public=self.schema.name.partition("::")[2],
            named=f"{symbol(self.schema)}_named" if result_type(self.schema) else "",
            returns_list=returns_list(self.schema),
            parameters=self._parameters(schema),
            first=self._gather(schema),
            is_operator=self.is_operator,
            takes_old=self.takes_old,
            numpy=self.numpy,
        )

    def short_source(self) -> str:
        """Return the text of one line that becomes `source` at the first call."""
        schema = python_schema(self.schema)
        head = f"def {self.name}({', '.join(self._parameters(schema))})"
        operator = f'"{self.schema.name}", "{self.schema.overload_name}"'
        given = passed_on(schema)
        if self.out is not None:
            operator += f', "{self.out}"' + (f", {tuple(self.outs)}" if self.outs else "")
            given.append("out=out")
        if self.is_operator:
            given = [parameter(a) for a in schema.arguments if not a.kwarg_only]
        if self.numpy and variadic_argument(schema) is None:
            slots = old_parameters(self.takes_old) or [SURPLUS]
            given += [f"{each}={each}" for each in (*slots, *self.numpy)]
        if (variadic := variadic_argument(schema)) is not None:
            name = parameter(variadic)
            given[given.index(name)] = f"*{name}s_, {name}={name}"
            given += ["**named"] if self.numpy else []
        return f"{head}: return complete({self.name}, {operator})({', '.join(given)})"

    def _parameters(self, schema: FunctionSchema) -> list[str]:
        variadic = variadic_argument(schema)
        if self.is_operator:
            return [parameter(a) for a in schema.arguments if not a.kwarg_only]
        if variadic is None:
            return name_parameters(
                schema,
                takes_out=self.out is not None,
                takes_old=self.takes_old,
                numpy=self.numpy,
            )
        name = parameter(variadic)
        plain = [a for a in schema.arguments if a is not variadic]
        required = "=MISSING" if self.numpy else ""
        before = [declared(a, required) for a in plain if not a.kwarg_only]
        keyword = [declared(a) for a in plain if a.kwarg_only]
        outs = ["out=None"] if self.out is not None else []
        named = ["**named"] if self.numpy else []
        return [*before, f"*{name}s_", f"{name}=None", *keyword, *outs, *named]

    def _gather(self, schema: FunctionSchema) -> list[str]:
        """Return the lines that make one list of ints that were given one by one."""
        variadic = variadic_argument(schema)
        if variadic is None:
            return []
        name = parameter(variadic)
        before = [parameter(a) for a in schema.arguments if not (a is variadic or a.kwarg_only)]
        public = self.schema.name.partition("::")[2]
        one = f"len({name}s_) == 1 and {name}s_[0].__class__ is not int"
        # None is refused as any other value that is no list of ints.
        lines = [
            f"if {name} is None:",
            f"{INDENT}{name} = {name}s_[0] if {one} else {name}s_ or None",
            f"elif {name}s_:",
            f"{INDENT}return miss({symbol(self.schema)}_op, "
            f'({", ".join([*before, f"*{name}s_"])},), {{"{name}": {name}}}, {public})',
        ]
        if self.numpy:
            own = by_name([parameter(a) for a in schema.arguments] + ["out"] * bool(self.out))
            lines += ["if named:", f"{INDENT}return numpy_call({self.name}, {own}, MISSING, named)"]
        return lines


def python_schema(schema: FunctionSchema) -> FunctionSchema:
    """Return `schema` with the name that Python functions give to ``self``: ``input``."""
    names = {argument.name for argument in schema.arguments}
    if "self" not in names or "input" in names:
        return schema
    return schema.with_arguments(tuple([_renamed(argument) for argument in schema.arguments]))


def _renamed(argument: Argument) -> Argument:
    return argument.renamed("input") if argument.name == "self" else argument


def variadic_argument(schema: FunctionSchema) -> Argument | None:
    """Return the list of ints that a call may also spell out: ``x.view(2, 3)``. It is the only one
    behind ``self``.
    """
    positional = [a for a in schema.arguments if not a.kwarg_only]
    others = [a for a in positional if a.name not in ("self", "input")]
    if len(others) != 1 or others[0].has_default_value() or others[0].N is not None:
        return None
    return others[0] if others[0].real_type.schema_str in ("int[]", "SymInt[]") else None


def result_type(schema: FunctionSchema) -> str:
    """Return the name of the class of named results that a function returns, ``max`` or
    ``max_out``; empty for a plain result.

    Results have names where the schema names all of several, but for those of operators that are
    parts of others.
    """
    base = schema.name.partition("::")[2]
    if len(schema.returns) < 2 or not all([item.name for item in schema.returns]):
        return ""
    if base.startswith("_") or base.endswith(("_forward", "_backward")):
        return ""
    return f"{base}_out" if any([argument.is_out for argument in schema.arguments]) else base


def returns_list(schema: FunctionSchema) -> bool:
    """Return whether the result is a list of tensors, of which functions make a tuple."""
    return [item.real_type.schema_str for item in schema.returns] == ["Tensor[]"]


__all__ = ["PythonFunction", "python_schema", "result_type", "returns_list", "variadic_argument"]

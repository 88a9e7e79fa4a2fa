"""Text of the functions that users call by name: an overload with a Python signature.

``self`` is called ``input``, sizes may be spelled out (``x.view(2, 3)``), and results may have
names. Every function has a short text as well, which is in the file::

    def neg_(input): return complete(neg_, "aten::neg_")(input)

`complete` gives the function its real body at the first call, from this very template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from dovetail_dispatcher.calls import INDENT, compose_entry, default_text, parameter, symbol
from dovetail_dispatcher.schema import Argument, FunctionSchema

from .numpy_names import SURPLUS, by_name, called, numpy_lines, numpy_names


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
        How many arguments more deprecated overloads have, which it takes too: ``add(x, 2, y)``.
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

    @property
    def naming(self) -> str:
        """What the text calls to give results names; empty for a plain result."""
        return f"{symbol(self.schema)}_named" if result_type(self.schema) else ""

    def source(self) -> str:
        """Return the text of the function."""
        schema = python_schema(self.schema)
        renamed = schema is not self.schema
        return compose_entry(
            schema,
            self.name,
            self._parameters(schema),
            (),
            ["input" if renamed and name == "self" else name for name in self.promote],
            first=self._first_lines(schema),
            public=called(schema, self.schema.name.partition("::")[2]),
            named=self.naming,
            returns_list=returns_list(self.schema),
            is_operator=self.is_operator,
        )

    def short_source(self) -> str:
        """Return the text of one line that becomes `source` at the first call."""
        schema = python_schema(self.schema)
        head = f"def {self.name}({', '.join(self._parameters(schema))})"
        overload = self.schema.overload_name
        operator = f'"{self.schema.name}{"." if overload else ""}{overload}"'
        given = passed_on(schema)
        if self.out is not None:
            operator += f', "{self.out}"' + (f", {tuple(self.outs)}" if self.outs else "")
            given.append("out=out")
        if self.is_operator:
            given = [parameter(a) for a in schema.arguments if not a.kwarg_only]
        if self.numpy and variadic_argument(schema) is None:
            slots = _old_parameters(self.takes_old) or [SURPLUS]
            given += [f"{each}={each}" for each in (*slots, *self.numpy)]
        if (variadic := variadic_argument(schema)) is not None:
            name = parameter(variadic)
            given[given.index(name)] = f"*{name}s_, {name}={name}"
            given += ["**named"] if self.numpy else []
        function = called(schema, self.name)
        return f"{head}: return complete({function}, {operator})({', '.join(given)})"

    def _parameters(self, schema: FunctionSchema) -> list[str]:
        variadic = variadic_argument(schema)
        if self.is_operator:
            return [parameter(a) for a in schema.arguments if not a.kwarg_only]
        if variadic is None:
            return _name_parameters(
                schema, takes_out=self.out is not None, takes_old=self.takes_old, numpy=self.numpy
            )
        name = parameter(variadic)
        plain = [a for a in schema.arguments if a is not variadic]
        required = "=MISSING" if self.numpy else ""
        before = [declared(a, required) for a in plain if not a.kwarg_only]
        keyword = [declared(a) for a in plain if a.kwarg_only]
        outs = ["out=None"] if self.out is not None else []
        named = ["**named"] if self.numpy else []
        return [*before, f"*{name}s_", f"{name}=None", *keyword, *outs, *named]

    def _first_lines(self, schema: FunctionSchema) -> list[str]:
        """Return the lines for calls that another function makes: of deprecated overloads, with
        NumPy's names, with ``out=``.
        """
        lines = self._gather(schema)
        takes_out = self.out is not None
        if self.takes_old:
            lines += _old_lines(schema, self.name, self.takes_old, self.numpy, takes_out=takes_out)
        if self.numpy and variadic_argument(schema) is None:
            lines += numpy_lines(
                schema, self.name, self.numpy, takes_out=takes_out, takes_old=self.takes_old > 0
            )
        if self.out:
            written = f"{self.outs[0]}=out" if self.outs else "out=out"
            if len(self.outs) > 1:
                names = ", ".join([f'"{each}"' for each in self.outs])
                public = self.schema.name.partition("::")[2]
                written = f'**several_outs("{public}", ({names}), out)'
            given = ", ".join([*passed_on(schema), written])
            lines += ["if out is not None:", f"{INDENT}return {self.out}({given})"]
        return lines

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


def _old_lines(
    schema: FunctionSchema, name: str, count: int, numpy: Iterable[str], *, takes_out: bool
) -> list[str]:
    """Return the lines that leave a call with surplus arguments to the deprecated overloads."""
    positional = [parameter(a) for a in schema.arguments if not a.kwarg_only]
    keywords = [parameter(a) for a in schema.arguments if a.kwarg_only]
    args = ", ".join([*positional, *_old_parameters(count)])
    kwargs = by_name([*keywords, *(["out"] if takes_out else []), *numpy])
    return ["if old1 is not MISSING:", f"{INDENT}return old_overload({name}, ({args}), {kwargs})"]


def _old_parameters(count: int) -> list[str]:
    """Return the parameters for what deprecated overloads have beyond those of the function."""
    return [f"old{number}" for number in range(1, count + 1)]


def _name_parameters(
    schema: FunctionSchema, *, takes_out: bool, takes_old: int, numpy: Mapping[str, str]
) -> list[str]:
    """Return the parameters of the function that users call by name, ``input, *, alpha=1``."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    keyword = [a for a in schema.arguments if a.kwarg_only]
    outs = ["out=None"] if takes_out else []
    if not takes_old and not numpy:
        heads = [declared(a) for a in positional]
        only = [*[declared(a) for a in keyword], *outs]
        return [*heads, "*", *only] if only else heads
    slots = _old_parameters(takes_old) or [SURPLUS]
    return [
        *[declared(a, required="=MISSING") for a in positional],
        *[f"{slot}=MISSING" for slot in slots],
        *[declared(a, required="=MISSING") for a in keyword],
        *outs,
        *[f"{each}={default}" for each, default in numpy.items()],
    ]


def declared(argument: Argument, required: str = "") -> str:
    """Return an argument as it stands in the head of a function, ``alpha=1``; `required` is behind
    one without default.
    """
    default = f"={default_text(argument)}" if argument.has_default_value() else required
    return parameter(argument) + default


def passed_on(schema: FunctionSchema) -> list[str]:
    """Return the arguments as one function hands them to another, ``input, alpha=alpha``."""
    return [
        f"{parameter(a)}={parameter(a)}" if a.kwarg_only else parameter(a) for a in schema.arguments
    ]


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

"""Facts of a schema that plans need, found once: its arguments by what they are for."""

from __future__ import annotations

from typing import Any

from ...schema import Argument, FunctionSchema
from ...schema.function_schema import OPTIONAL_TENSOR, TENSOR
from ..plan import Operand, Value, argument_value
from ..steps.arguments import ArrayOf


class SchemaFacts:
    """The arguments of a schema as array kernels take them.

    Attributes
    ----------
    inputs
        The arguments but for ``out=`` tensors.
    outs
        The ``out=`` tensors.
    written
        The input that is written in place; None if there is none.
    tensors
        The inputs that are one tensor, never None.
    operands
        The inputs that are one tensor or None.
    arrays
        The arrays of all inputs that have any.
    given
        By the name of an input: what a kernel is given for it if it is not promoted.
    dtypes
        The inputs that are dtypes, for which kernels are given those of the backend.
    positional, keywords, arrays_of
        Names of inputs: those given by position, the others, and those of `arrays`.
    defaults
        The inputs that are not tensors with their defaults; None if one has no default.
    kinds
        The kinds of the returns.
    shows
        The argument whose memory the results share, if the operator is a view.
    """

    __slots__ = (
        "arrays",
        "arrays_of",
        "defaults",
        "dtypes",
        "given",
        "inputs",
        "is_view",
        "keywords",
        "kinds",
        "operands",
        "outs",
        "positional",
        "shows",
        "tensors",
        "written",
    )

    def __init__(self, schema: FunctionSchema) -> None:
        self.inputs = inputs = [a for a in schema.arguments if not a.is_out]
        self.outs = [argument_value(a) for a in schema.arguments if a.is_out]
        self.written = next(iter([a for a in inputs if a.is_write]), None)
        self.tensors = [a for a in inputs if a.kind == TENSOR]
        operands = [a for a in inputs if a.kind in (TENSOR, OPTIONAL_TENSOR)]
        self.operands = tuple(map(argument_value, operands))
        self.given = {a.name: _given(a) for a in inputs}
        like = [a for a in inputs if a.is_tensor_like]
        self.arrays_of = tuple([a.name for a in like])
        self.arrays = tuple([ArrayOf(argument_value(a), a.kind) for a in like])
        self.dtypes = [a for a in inputs if a.kind in ("ScalarType", "ScalarType?")]
        self.positional = tuple([a.name for a in inputs if not a.kwarg_only])
        self.keywords = tuple([a.name for a in inputs if a.kwarg_only])
        others = [a for a in inputs if not a.is_tensor_like]
        self.defaults: tuple[tuple[Value, Any], ...] | None = None
        if all([a.has_default_value() for a in others]):
            self.defaults = tuple([(argument_value(a), a.default_value) for a in others])
        self.kinds = [a.kind for a in schema.returns]
        self.is_view = schema._is_view_op()
        aliased = next(iter([a for a in inputs if a.alias_info is not None]), None)
        shows = self.is_view and schema.returns and aliased is not None
        self.shows = argument_value(aliased) if shows and aliased is not None else None


def facts_of(schema: FunctionSchema) -> SchemaFacts:
    """Return the facts of a schema, which it keeps."""
    facts: SchemaFacts | None = schema.__dict__.get("_facts")
    if facts is None:
        facts = schema.__dict__["_facts"] = SchemaFacts(schema)
    return facts


def _given(argument: Argument) -> Operand:
    value = argument_value(argument)
    return ArrayOf(value, argument.kind) if argument.is_tensor_like else value

"""Reads ``derivatives.yaml``: which operator is differentiated by which formulas, rewritten and
with what they save.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from dovetail_dispatcher import parse_schema

from ..errors import DerivativeError, Location
from .derivative_records import Derivative, ForwardFormula, InputFormula, SavedValue, with_copies
from .entries import Entry, read_entries
from .expressions import Rewritten, Scope, rewrite
from .native_functions import NativeFunction
from .node_names import ENTRY_KEYS, NON_DIFFERENTIABLE, node_name

_RESERVED = ("grad_input_mask", "result", "grads")
_OWN = {"k", "node", "edges", "saved", "version", "expected"}  # what bodies call their own things


def read_derivatives(
    paths: Path | Sequence[Path],
    functions: Sequence[NativeFunction],
    *,
    helpers: Collection[str] = (),
    tensors_only: Collection[str] = (),
    operators: Collection[str] = (),
) -> list[Derivative]:
    """Read the derivatives that `paths` declare. In-place variants use those of their functional
    operator.

    Parameters
    ----------
    paths
        The YAML file, or those of the families in order.
    functions
        The operators from `read_native_functions`.
    helpers
        Names of helper functions that formulas may call; their first argument is the operator
        namespace `k`.
    tensors_only
        Helpers that do not work on arrays.
    operators
        Base names of other libraries' operators that formulas may call.

    Raises
    ------
    DerivativeError
        With the line and the remedy.
    """
    by_name = {function.name: function for function in functions}
    base_names = {function.base_name for function in functions} | set(operators)
    derivatives: dict[str, Derivative] = {}
    numbers: dict[str, int] = {}
    for entry in read_entries(paths, DerivativeError):
        function = _find(entry, by_name)
        node = node_name(entry, numbers)
        if function.name in derivatives:
            raise DerivativeError(
                entry.where,
                f"'{function.name}' has two entries; first at {derivatives[function.name].where}.",
                "Merge them.",
            )
        derivatives[function.name] = _Reader(
            entry, function, node, base_names, helpers, tensors_only
        ).read()
    return with_copies(derivatives.values(), functions)


def _find(entry: Entry, by_name: dict[str, NativeFunction]) -> NativeFunction:
    if "name" not in entry.values:
        raise DerivativeError(
            entry.where, "the entry has no 'name'.", "Write the operator's schema there."
        )
    where, text = entry.lines["name"], entry.text("name")
    try:
        schema = parse_schema(text if "::" in text.partition("(")[0] else f"aten::{text}")
    except Exception as problem:
        raise DerivativeError(
            where, f"Invalid function schema: {text}\n{problem}\n", "Correct the schema."
        ) from None
    name = schema.name.partition("::")[2] + (
        f".{schema.overload_name}" if schema.overload_name else ""
    )
    function = by_name.get(name)
    if function is None or function.schema != schema:
        base = name.partition(".")[0]
        available = [f.text for f in by_name.values() if f.base_name == base]
        raise DerivativeError(
            where,
            f"could not find ATen function for schema: {text}. Available signatures:\n  "
            + "\n  ".join(available)
            + "\n",
            "Copy the schema from native_functions.yaml.",
        )
    if function.schema_kind == "out":
        raise DerivativeError(
            where, f"{name} is an out= variant, which is never differentiable.", "Remove the entry."
        )
    return function


class _Reader:
    """Reads one entry."""

    def __init__(
        self,
        entry: Entry,
        function: NativeFunction,
        node: str,
        operators: Collection[str],
        helpers: Collection[str],
        tensors_only: Collection[str],
    ) -> None:
        self.entry = entry
        self.function = function
        self.node = node
        self.schema = function.schema
        self.arguments = {argument.name: argument for argument in self.schema.arguments}
        self.results = _result_names(function)
        for name in self.arguments:
            if name in _RESERVED:
                raise DerivativeError(
                    entry.where,
                    f"Schema for {function.name} has an argument named {name}.",
                    "Formulas use that name for something else: rename the argument.",
                )
        tensors = {
            n for n, a in self.arguments.items() if a.real_type.schema_str in ("Tensor", "Tensor?")
        }
        lists = {
            n
            for n, a in self.arguments.items()
            if a.real_type.schema_str in ("Tensor[]", "Tensor?[]")
        }
        self.named_gradients = {
            f"grad_{name}": name for name in self.results if not name.startswith("result")
        }
        self.scope = Scope(
            tensors=tensors | set(self.results),
            lists=lists,
            values=set(self.arguments) - tensors - lists - _OWN,
            gradients={"grad", "grads", *self.named_gradients},
            operators=operators,
            helpers=helpers,
            tensors_only=tensors_only,
        )

    def read(self) -> Derivative:
        output_differentiability = self._output_differentiability()
        formulas: list[InputFormula] = []
        forward: list[tuple[str, str, Location]] = []
        without: set[str] = set()
        for key in self.entry.values:
            if key in ENTRY_KEYS:
                continue
            names = tuple([name.strip() for name in key.split(",")])
            text, where = self.entry.text(key), self.entry.lines[key]
            if len(names) == 1 and names[0] in self.results and names[0] not in self.arguments:
                forward.append((names[0], text, where))
                continue
            self._check_inputs(names, where)
            if text == NON_DIFFERENTIABLE:
                without.update(names)
                continue
            formulas.append(InputFormula(names, self._rewrite(text, names, where), where))
        inputs = self._inputs(formulas, without)
        gradients, output_differentiability = self._gradients(formulas, output_differentiability)
        return Derivative(
            function=self.function,
            node=self.node,
            inputs=inputs,
            list_inputs=tuple([name for name in inputs if name in self.scope.lists]),
            formulas=tuple(formulas),
            saved=self._saved(formulas, inputs),
            gradients=gradients,
            output_differentiability=output_differentiability,
            forward=tuple([self._forward(*each, formulas) for each in forward]),
            refused=self._refused(inputs, without),
            where=self.entry.lines["name"],
        )

    def _forward(
        self, result: str, text: str, where: Location, formulas: list[InputFormula]
    ) -> ForwardFormula:
        output = self.results.index(result)
        if text == "auto_linear":
            return ForwardFormula(output, "linear")
        if text == "auto_element_wise":
            if (
                len(formulas) != 1
                or len(formulas[0].inputs) != 1
                or formulas[0].rewritten.not_implemented
            ):
                raise DerivativeError(
                    where,
                    f"{self.function.name} is auto_element_wise without the formula of exactly "
                    "one input.",
                    "Write the tangent as an expression in <input>_t and <input>_p.",
                )
            return ForwardFormula(output, "elementwise", formulas[0].rewritten)
        scope = replace(
            self.scope,
            tensors={*self.scope.tensors, *_marked(self.scope.tensors)},
            lists={*self.scope.lists, *_marked(self.scope.lists)},
            gradients=(),
        )
        return ForwardFormula(output, "expression", rewrite(text, scope, where))

    def _check_inputs(self, names: Iterable[str], where: Location) -> None:
        for name in names:
            if name not in self.arguments:
                raise DerivativeError(
                    where,
                    f"'{name}' is no argument or result of {self.schema}.",
                    f"Formulas are for: {', '.join(self.arguments)}.",
                )
            if name not in self.scope.tensors and name not in self.scope.lists:
                raise DerivativeError(
                    where, f"argument '{name}' is not a tensor.", "Remove its formula."
                )

    def _rewrite(self, text: str, names: tuple[str, ...], where: Location) -> Rewritten:
        rewritten = rewrite(text, self.scope, where)
        used = rewritten.gradients
        if "grad" in used and "grads" in used:
            raise DerivativeError(
                where,
                f"formula '{text}' illegally mixes use of 'grad' and 'grads'.",
                "Use 'grads[i]' throughout.",
            )
        if used - {"grad", "grads"} and used & {"grad", "grads"}:
            raise DerivativeError(
                where,
                f"formula '{text}' illegally mixes use of 'grad' and 'grad_<result>'.",
                "Use one way of naming them.",
            )
        self._check_indices(text, where)
        if rewritten.uses_mask and len(names) == 1:
            raise DerivativeError(
                where,
                "grad_input_mask stands in the formula of one input.",
                "Write a joint formula.",
            )
        return rewritten

    def _check_indices(self, text: str, where: Location) -> None:
        indices = [int(index) for index in re.findall(r"\bgrads\[(\d+)\]", text)]
        count = len(self.results)
        if any([index >= count for index in indices]) and not self._returns_list():
            raise DerivativeError(
                where,
                f"Out of bounds grads access in '{text}'.",
                f"{self.function.name} has {count} results.",
            )
        if indices and set(indices) == {0} and count == 1 and not self._returns_list():
            raise DerivativeError(
                where, f"formula '{text}' solely refers to 'grads[0]'.", "Write 'grad'."
            )

    def _returns_list(self) -> bool:
        return any([result.real_type.schema_str == "Tensor[]" for result in self.schema.returns])

    def _inputs(self, formulas: list[InputFormula], without: set[str]) -> tuple[str, ...]:
        names = [name for formula in formulas for name in formula.inputs]
        for name in names:
            if name in without or names.count(name) > 1:
                raise DerivativeError(
                    self.entry.where,
                    f"overlapped non_differentiable and differentiable variables: {name} of "
                    f"{self.function.name}.",
                    "Give every input one formula.",
                )
        inputs = tuple([name for name in self.arguments if name in names])
        lists = [name for name in inputs if name in self.scope.lists]
        if lists and len(inputs) > 1:
            raise DerivativeError(
                self.entry.where,
                f"the list {lists[0]} is not the only differentiable input.",
                "Split the operator.",
            )
        return inputs

    def _refused(self, inputs: tuple[str, ...], without: set[str]) -> tuple[str, ...]:
        if not inputs:
            return ()
        tensors = {*self.scope.tensors, *self.scope.lists} - without - set(inputs)
        return tuple([name for name in self.arguments if name in tensors])

    def _output_differentiability(self) -> tuple[bool, ...] | None:
        value = self.entry.values.get("output_differentiability")
        if value is None:
            return None
        if not isinstance(value, list) or not all([isinstance(item, bool) for item in value]):
            raise DerivativeError(
                self.entry.lines["output_differentiability"],
                "output_differentiability must either be list[bool] or a list[str] where each str "
                "is a condition;",
                "here it is list[bool], one per result: conditions are not supported.",
            )
        if len(value) != len(self.schema.returns):
            raise DerivativeError(
                self.entry.lines["output_differentiability"],
                f"output_differentiability has {len(value)} entries for "
                f"{len(self.schema.returns)} results.",
                "Give one per result.",
            )
        return tuple(value)

    def _gradients(
        self, formulas: list[InputFormula], output_differentiability: tuple[bool, ...] | None
    ) -> tuple[tuple[str, ...], tuple[bool, ...] | None]:
        """Return the names under which a body takes its gradients, and which results are
        differentiable after all.
        """
        used = {name for formula in formulas for name in formula.rewritten.gradients}
        if "grads" in used or self._returns_list():
            return ("*grads",), output_differentiability
        count = len(self.schema.returns)
        if used - {"grad"}:
            differentiable = output_differentiability or (True,) * count
            taken = count - differentiable[::-1].index(True)  # up to the last that has a gradient
            names = [f"grad_{name}" for name in self.results[:taken]]
            return (*names, *(["*_"] if taken < count else ())), output_differentiability
        if count > 1:
            return ("grad", "*_"), output_differentiability or (True, *(False,) * (count - 1))
        return ("grad",), output_differentiability

    def _saved(
        self, formulas: list[InputFormula], inputs: tuple[str, ...]
    ) -> tuple[SavedValue, ...]:
        readers: dict[str, set[str]] = {}
        expressions: dict[str, str] = {}
        for formula in formulas:
            for name, expression in formula.rewritten.saved.items():
                readers.setdefault(name, set()).update(formula.inputs)
                expressions[name] = expression
        saved = []
        for name in sorted(readers, key=self._order):
            needed_by = () if len(inputs) == 1 else tuple([i for i in inputs if i in readers[name]])
            saved.append(replace(self._saved_value(name, expressions[name]), needed_by=needed_by))
        return tuple(saved)

    def _order(self, name: str) -> tuple[int, str]:
        order = [*self.arguments, *self.results]
        owner = next((n for n in order if name == n or name.startswith(n + "_")), name)
        owner = name if name in order else owner
        return (order.index(owner) if owner in order else len(order), name)

    def _saved_value(self, name: str, expression: str) -> SavedValue:
        if expression:
            owner = expression.split(".", maxsplit=1)[0]
            if owner in self.results and owner != "result" and owner not in self.arguments:
                raise DerivativeError(
                    self.entry.where,
                    f"metadata of the result '{owner}'.",
                    "Save it from an argument or use the result.",
                )
            return SavedValue(name, "value", expression=expression)
        if name in self.results and name not in self.arguments:
            return SavedValue(name, "result", output=self.results.index(name))
        if name in self.scope.lists:
            return SavedValue(name, "list")
        if name in self.scope.tensors:
            return SavedValue(
                name, "input", optional=self.arguments[name].real_type.schema_str == "Tensor?"
            )
        return SavedValue(name, "value")


def _marked(names: Iterable[str]) -> list[str]:
    """Return the names of the primals and tangents of arguments in forward formulas."""
    return [f"{name}_{mark}" for name in names for mark in ("p", "t")]


def _result_names(function: NativeFunction) -> tuple[str, ...]:
    """Return the names by which formulas call the results: their own, ``result``, or ``result0``,
    ``result1``, ...
    """
    returns = function.schema.returns
    if len(returns) == 1:
        return (returns[0].name or "result",)
    return tuple([result.name or f"result{index}" for index, result in enumerate(returns)])

"""Rows of derivatives, and the bodies that are made of one, each when it is first used: over
tensors, over arrays, over arrays of real numbers, and forward.

What a formula reads from the node comes first, one line per saved tensor. Over arrays that line
compares the version as well, and leaves every other case to the node's own reading, which raises::

    self = saved.array if (version := (saved := node._self)._counter) is None or ... else ...

Plain values that are read once stand in the formula itself: ``node._alpha``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from dovetail_dispatcher.calls import INDENT
from dovetail_dispatcher.compilation import compile_functions
from dovetail_dispatcher.table import Formula, Forward, Saved

__all__ = ["Gradient", "Row", "Saved", "Tangent", "formulas_of_module"]

Over: TypeAlias = Literal["tensors", "arrays", "real"]
"""What a body works on; ``real``: arrays of real numbers."""

_OVER: Final[Mapping[str, Over]] = {"tensors": "tensors", "arrays": "arrays", "real_arrays": "real"}
"""The bodies, by attributes of formulas."""

_IMPORT: Final = "import k  # the operators"
"""First line of the text of bodies: with it Python reads ``k.mul`` as an attribute, which is faster
than as a method.
"""

WIDTH: Final = 100


class Gradient(NamedTuple):
    """The formula of one input, or the joint formula of several.

    Attributes
    ----------
    inputs
        Names of the inputs, separated by spaces.
    text
        The formula; of one that is not implemented, empty.
    reads
        The saved values that the text names, separated by spaces.
    real
        The formula without conjugates, if that is another one.
    uses_mask
        Whether it is told which gradients are needed.
    missing
        Name of what is not implemented.
    """

    inputs: str
    text: str
    reads: str = ""
    real: str = ""
    uses_mask: bool = False
    missing: str = ""


class Tangent(NamedTuple):
    """The forward formula of one result.

    Attributes
    ----------
    output
        Which result.
    kind
        As for `Forward`.
    text
        The formula; empty for ``'linear'``.
    parameters
        The arguments, tangents and results that it reads, separated by spaces.
    metadata
        Other names in the text, and what they stand for.
    """

    output: int
    kind: Literal["linear", "elementwise", "expression"]
    text: str = ""
    parameters: str = ""
    metadata: tuple[tuple[str, str], ...] = ()


class Row(Formula):
    """The derivative of one operator, as it is generated: a `Formula` whose bodies are compiled
    when they are first read.

    Parameters
    ----------
    operator, name, inputs, where, saved, output_differentiability, refused
        As for `Formula`.
    gradients
        One per input or group of inputs.
    tangents
        At most one per result.
    grads
        The parameters that take the gradients of the results.
    bodies
        Which bodies there are beside that over tensors: "arrays", or "arrays real".
    optional
        The saved tensors that may be None.
    shares
        Operator whose bodies this one runs: a view, of its copy.
    """

    __slots__ = ("_bodies", "_names")

    def __init__(
        self,
        operator: str,
        name: str,
        inputs: tuple[str, ...],
        where: str,
        saved: tuple[Saved, ...] = (),
        gradients: Sequence[Gradient] = (),
        tangents: Sequence[Tangent] = (),
        *,
        grads: str = "grad",
        bodies: str = "",
        optional: str = "",
        shares: str = "",
        output_differentiability: tuple[bool, ...] | None = None,
        refused: tuple[str, ...] = (),
    ) -> None:
        self.operator = operator
        self.name = name
        self.inputs = inputs
        self.where = where
        self.saved = saved
        self.output_differentiability = output_differentiability
        self.refused = refused
        self._bodies = _Bodies(
            (shares or operator).partition("::")[2].replace(".", "_").lstrip("_"),
            inputs,
            {each.name: each.kind for each in saved},
            gradients,
            tangents,
            grads,
            bodies,
            optional,
        )
        self.has_arrays = self._bodies.has("arrays")
        self._names: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        own = self._bodies
        value: Any
        if name == "forward":
            value = tuple(
                [
                    Forward(
                        each.output,
                        each.kind,
                        self._compiled(own.forward(each)) if each.text else None,
                        tuple(each.parameters.split()),
                    )
                    for each in own.tangents
                ]
            )
        elif name in _OVER:
            over = _OVER[name]
            value = self._compiled(own.backward(over)) if own.has(over) else None
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        setattr(self, name, value)
        return value

    def source(self) -> str:
        """Return the text of all bodies."""
        return "\n\n".join(["\n".join(lines) + "\n" for lines in self._bodies.texts()])

    def _compiled(self, lines: list[str]) -> Callable[..., Any]:
        text = "\n".join([_IMPORT, "", "", *lines]) + "\n"
        title = f"derivative of {self.operator}, {self.where}"
        (function,) = compile_functions(text, title, self._names).values()
        return function


def formulas_of_module(rows: tuple[Row, ...], names: dict[str, object]) -> tuple[Row, ...]:
    """Return `rows`, whose bodies find what they call in the namespace `names`."""
    for row in rows:
        row._names = names
    return rows


class _Bodies(NamedTuple):
    """What the bodies of one operator are written of; the fields are those of `Row`."""

    own: str
    inputs: tuple[str, ...]
    saved: Mapping[str, str]
    gradients: Sequence[Gradient]
    tangents: Sequence[Tangent]
    grads: str
    kinds: str
    optional: str

    def name(self, over: Over) -> str:
        """Return the name of a body, ``mul_Tensor_arrays``."""
        return f"{self.own}_{over}"

    def has(self, over: Over) -> bool:
        """Return whether there is such a body."""
        return bool(self.inputs) and over in ("tensors", *self.kinds.split())

    def texts(self) -> Iterator[list[str]]:
        """Yield the lines of each body, forward bodies last."""
        for over in _OVER.values():
            if self.has(over):
                yield self.backward(over)
        for each in self.tangents:
            if each.text:
                yield self.forward(each)

    # -- backward ----------------------------------------------------------------------------------

    def backward(self, over: Over) -> list[str]:
        """Return the lines of a body."""
        more = [] if over == "tensors" else ["k", "edges"]
        head = f"def {self.name(over)}({', '.join(['node', *more, *self.grads.split()])}):"
        if len(self.inputs) > 1:
            return _defined(head, self._several_inputs(over))
        formula = self.gradients[0]
        if formula.missing:
            return _defined(head, [_not_implemented(formula)])
        loads, text = self._read(formula, over)
        return _defined(head, [*loads, f"return ({text},)"])

    def _several_inputs(self, over: Over) -> list[str]:
        """Return the body of several inputs: each gradient is computed only if its edge leads
        somewhere.
        """
        taken = self.grads.split()
        targets = {n: f"grad_{n}_" if f"grad_{n}" in taken else f"grad_{n}" for n in self.inputs}
        returned = f"return {', '.join(targets.values())}"
        edges = "node.next_edges" if over == "tensors" else "edges"
        first = self.gradients[0]
        of_first = tuple(first.inputs.split())
        if len(self.gradients) == 1 and len(of_first) == len(self.inputs):
            mask = [f"grad_input_mask = tuple([edge is not None for edge in {edges}])"]
            loads, text = self._read(first, over)
            lines = [*(mask if first.uses_mask else []), *loads]
            if of_first == self.inputs:
                return [*lines, f"return {text}"]
            return [*lines, f"{', '.join([targets[n] for n in of_first])} = {text}", returned]
        computed: list[str] = []
        in_blocks: list[str] = []
        # Hooks may give a saved tensor back, so it is unpacked once.
        shared = self._read_by_several() if over == "tensors" else []
        loaded = [line for name in shared for line in self._load(name, over)]
        for formula in self.gradients:
            lines = self._gradient(formula, targets, over, shared)
            computed += lines
            if len(lines) > 1:
                in_blocks += [targets[name] for name in formula.inputs.split()]
        unset = [f"{' = '.join([g for g in targets.values() if g in in_blocks])} = None"]
        unpacked = f"{', '.join([f'{name}_edge' for name in self.inputs])} = {edges}"
        return [unpacked, *loaded, *(unset if in_blocks else []), *computed, returned]

    def _gradient(
        self, formula: Gradient, targets: Mapping[str, str], over: Over, loaded: Collection[str]
    ) -> list[str]:
        """Return what computes one formula of several: one line, or a block under a condition.

        Parameters
        ----------
        loaded
            The saved tensors that have been read already.
        """
        names = formula.inputs.split()
        edges = [f"{name}_edge" for name in names]
        block: list[str] = []
        if formula.missing:
            block.append(_not_implemented(formula))
        else:
            assigned = ", ".join([targets[name] for name in names])
            loads, text = self._read(formula, over, loaded)
            if formula.uses_mask:
                needed = ", ".join([f"{edge} is not None" for edge in edges])
                block.append(f"grad_input_mask = ({needed})")
            elif not loads and len(edges) == 1:
                return [f"{assigned} = None if {edges[0]} is None else {text}"]
            block += [*loads, f"{assigned} = {text}"]
        condition = " or ".join([f"{edge} is not None" for edge in edges])
        return [f"if {condition}:", *[INDENT + line for line in block]]

    # -- what formulas read ------------------------------------------------------------------------

    def _read_by_several(self) -> list[str]:
        """Return the saved tensors that more than one formula reads."""
        readers = Counter([name for each in self.gradients for name in each.reads.split()])
        return [name for name, n in readers.items() if n > 1 and self.saved[name] != "value"]

    def _read(
        self, formula: Gradient, over: Over, loaded: Collection[str] = ()
    ) -> tuple[list[str], str]:
        """Return the lines that load what a formula reads, and the text of the formula."""
        text = formula.real if over == "real" and formula.real else formula.text
        names = [name for name in formula.reads.split() if name not in loaded]
        return [line for name in names for line in self._load(name, over)], text

    def _load(self, name: str, over: Over) -> list[str]:
        kind = self.saved[name]
        if kind == "value":
            return [f"{name} = node._{name}"]
        if over == "tensors":
            return [f"{name} = node.unpack_{name}()"]
        return _array_load(name, kind, is_optional=name in self.optional.split())

    # -- forward -----------------------------------------------------------------------------------

    def forward(self, tangent: Tangent) -> list[str]:
        """Return the lines of a forward body, ``mul_Tensor_forward``."""
        grad = ["grad"] if tangent.kind == "elementwise" else []
        parameters = ", ".join([*grad, *tangent.parameters.split()])
        lines = [f"{name} = {expression}" for name, expression in tangent.metadata]
        head = f"def {self.own}_forward{tangent.output or ''}({parameters}):"
        return _defined(head, [*lines, f"return {tangent.text}"])


def _array_load(name: str, kind: str, *, is_optional: bool) -> list[str]:
    """Return what reads a saved tensor as an array; on another version than was saved, the node's
    own reading raises.
    """
    if kind == "list":
        array = "None if tensor is None else tensor.array"
        return [f"{name} = [{array} for tensor in node.unpack_{name}()]"]
    if kind == "result":
        return [
            f"{name}, version, expected = node._{name}",
            f"if version.value != expected: node.unpack_{name}()",
        ]
    held = "saved" if is_optional else f"(saved := node._{name})"
    none = f"None if (saved := node._{name}) is None else " if is_optional else ""
    same = f"(version := {held}._counter) is None or version.value == node._{name}_version"
    return [f"{name} = {none}saved.array if {same} else node.unpack_{name}()"]


def _not_implemented(formula: Gradient) -> str:
    message = f"the derivative for '{formula.missing}' is not implemented."
    return f"raise NotImplementedError({message!r})"


def _defined(head: str, lines: list[str]) -> list[str]:
    """Return a function; if it is short, in one line."""
    if len(lines) == 1 and len(head) + len(lines[0]) < WIDTH:
        return [f"{head} {lines[0]}"]
    return [head, *[INDENT + line for line in lines]]

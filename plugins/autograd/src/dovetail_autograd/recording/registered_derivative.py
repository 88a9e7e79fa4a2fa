"""Routes of operators whose derivative a user wrote with `register_autograd`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any, ClassVar, Final, cast

from dovetail_dispatcher.calls.routes import Composition
from dovetail_dispatcher.calls.templates import RouteText
from dovetail_dispatcher.calls.templates.arguments import is_tensor_like, spelling
from dovetail_dispatcher.calls.templates.arguments import route_parameter as parameter
from dovetail_dispatcher.schema import Argument, FunctionSchema
from dovetail_dispatcher.table.derivative_formula import PythonFormula
from dovetail_kernel.keys.state import set_state, state
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.types.signature import DTYPE_MASK, GRAD, NO_GRAD, VIEW

from ..graph.autograd_meta import gradient_edge, leaf_edge
from ..graph.flatten import flatten
from ..graph.function_node import DIFFERENTIABLE, FunctionNode, new_node
from ..graph.node import next_sequence_nr
from ..graph.recording_extras import needs_extras
from .edge_text import edge_lines, run_below_autograd
from .route_support import edge_of

NO_TENSOR: Final = -1
"""Stands for the number of tensors in a result that is none, such as an int: backward gets None for
it.
"""


class GeneratedNode(FunctionNode):
    """One call of an operator with a `PythonFormula`; the context of its `setup_context` and
    `backward`.
    """

    __slots__ = ("is_list", "needs")

    formula_record: ClassVar[PythonFormula]
    takes_gradient: ClassVar[tuple[bool, ...]]
    """Per positional argument of the operator whether it can have gradients at all."""
    optional_inputs: ClassVar[int]
    """How many of the last positional arguments backward may return nothing for: values with a
    default.
    """
    is_list: list[tuple[int | None, bool]] | None
    """Per argument the number of tensors in a ``Tensor[]`` (else None), and whether it can have
    gradients at all. None
    for an operator without lists and with a single result."""
    needs: tuple[Any, ...]

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        """Per argument of the call whether it requires grad; a list for a ``Tensor[]``."""
        if self.is_list is not None:
            return self.needs
        edges = iter(self.next_edges)
        return tuple([takes and next(edges) is not None for takes in self.takes_gradient])

    def apply_tensors(self, *grads: TensorBase | None) -> Sequence[TensorBase | None]:
        """Call the user's backward with a gradient per result, and check what it returns."""
        if self.is_list is None and grads[0] is not None:
            returned = self.formula_record.backward(self, grads[0])
            if returned.__class__ is not tuple:
                returned = (returned,)
            if len(returned) == len(self.next_edges) == len(self.takes_gradient):
                for grad in returned:
                    if grad is not None and not isinstance(grad, TensorBase):
                        break
                else:
                    checked: Sequence[TensorBase | None] = returned
                    return checked
            return self._checked(returned, [(None, takes) for takes in self.takes_gradient])
        given: list[Any] = []
        if self._materialize:
            grads = tuple(
                [self._zeros(index) if grad is None else grad for index, grad in enumerate(grads)]
            )
        position = 0
        for length in self._lengths:
            if length is None:
                given.append(grads[position])
                position += 1
            elif length == NO_TENSOR:
                given.append(None)
            else:
                given.append(list(grads[position : position + length]))
                position += length
        returned = self.formula_record.backward(self, *given)
        return self._checked(
            returned, self.is_list or [(None, takes) for takes in self.takes_gradient]
        )

    def _checked(
        self, returned: Any, is_list: list[tuple[int | None, bool]]
    ) -> Sequence[TensorBase | None]:
        returned = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        expected = len(is_list)
        if len(returned) > expected and all([each is None for each in returned[expected:]]):
            returned = returned[:expected]
        if not expected - self.optional_inputs <= len(returned) <= expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got "
                f"{len(returned)}). Return one per positional argument of "
                f"{self.formula_record.operator}, None where "
                "there is none."
            )
        returned += (None,) * (expected - len(returned))
        flat: list[Any] = []
        for each, (length, is_tensor) in zip(returned, is_list, strict=True):
            if length is None:
                if is_tensor:
                    flat.append(each)
                elif each is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at "
                        "position "
                        f"{len(flat) + 1}, but the "
                        "corresponding forward input was not a Variable. Return None there."
                    )
            elif each is None:
                flat.extend([None] * length)
            elif isinstance(each, (list, tuple)) and len(each) == length:
                flat.extend(each)
            else:
                raise RuntimeError(
                    "Expected the return from backward to be of the same structure as the inputs: "
                    "a list of "
                    f"{length} gradients for a Tensor[] argument of {self.formula_record.operator}."
                )
        for each in flat:
            if each is not None and not isinstance(each, TensorBase):
                raise RuntimeError(
                    f"expected Variable or None (got {type(each).__name__}). Return a tensor or "
                    "None."
                )
        return flatten(self, tuple(flat))

    @property
    def _lengths(self) -> Sequence[int | None]:
        lengths: Sequence[int | None] = self.__dict__.get("_result_lengths", (None,))
        return lengths


@cache
def node_class(formula: PythonFormula, schema: FunctionSchema) -> type[GeneratedNode]:
    """Return the node class of `formula` for an operator of `schema`."""
    members = {
        "formula_record": formula,
        "takes_gradient": tuple([is_tensor_like(a) for a in schema.arguments if not a.kwarg_only]),
        "optional_inputs": len([a for a in schema.arguments if not a.kwarg_only])
        - max(
            [
                i
                for i, a in enumerate(schema.arguments, 1)
                if is_tensor_like(a) or not a.has_default_value()
            ]
            or [0]
        ),
        "__slots__": (),
    }
    return type(formula.name + "Backward", (GeneratedNode,), members)


def python_formula_route(
    composition: Composition, formula: PythonFormula, below: RouteText
) -> RouteText:
    """Return the route that runs `below` under Autograd and records a node of `formula`."""
    schema = composition.op.schema
    cls = node_class(formula, schema)
    run_below_autograd(below)
    has_lists = any([_is_list(argument) for argument in schema.arguments])
    if not has_lists and len(schema.returns) == 1 and spelling(schema.returns[0]) == "Tensor":
        _record_one_result(composition, formula, cls, below)
        return below
    names = ", ".join(parameter(a) for a in schema.arguments)
    results = ", ".join(below.results)
    below.bindings["record"] = partial(_record, formula, cls, schema)
    below.lines.append(
        f"{results} = record(({names},), {results if len(below.results) == 1 else f'({results})'})"
    )
    return below


def _record_one_result(
    composition: Composition, formula: PythonFormula, cls: type[GeneratedNode], text: RouteText
) -> None:
    """Add the lines that record a call of an operator without lists and with one result: the common
    case.

    For an operator with one argument they are::

        x_edge = ...
        <the call>
        if x_edge is not None:
            node = Node()
            node.next_edges = (x_edge,)
            ...
            result._grad_fn = node
    """
    schema = composition.op.schema
    result = text.results[0]
    text.bindings.update(
        DIFFERENTIABLE=DIFFERENTIABLE,
        GRAD=GRAD,
        VIEW=VIEW,
        Node=cls,
        edge_of=edge_of,
        gradient_edge=gradient_edge,
        leaf_edge=leaf_edge,
        next_sequence_nr=next_sequence_nr,
    )
    differentiable = [a for a in schema.arguments if is_tensor_like(a)]
    edges = [f"{parameter(a)}_edge" for a in differentiable]
    before = [
        line for a in differentiable for line in edge_lines(a, composition.key, is_only=False)
    ]
    after = [
        f"if {' or '.join([f'{edge} is not None' for edge in edges])}:",
        "    node = Node()",
        "    node._array_backend = node._node_hooks = node.is_list = None",
        f"    node.next_edges = ({', '.join(edges)},)",
        "    node.sequence_nr = next_sequence_nr()",
        f"    array = {result}.array",
        "    node.input_metadata = (array.shape, array.dtype)",
        f"    node._made = ({result}._signature,)",
        f"    if {result}._signature & DIFFERENTIABLE:",
        f"        {result}._grad_fn = node",
        f"        {result}.output_nr = 0",
        f"        {result}._signature |= GRAD",
    ]
    after += [f"    {line}" for line in _set_up_lines(formula, schema, text, result)]
    text.lines[:] = [*before, *text.lines, *after]


def _set_up_lines(
    formula: PythonFormula, schema: FunctionSchema, text: RouteText, result: str
) -> list[str]:
    """Return the lines that let the user set up the context of `node`, and keep what was saved
    there.
    """
    if formula.setup_context is None:
        return [f"node._keep_saved({result})"] if needs_extras() else []
    text.bindings.update(
        NO_GRAD=NO_GRAD,
        setup_context=formula.setup_context,
        state=state,
        set_state=set_state,
        unmark=_unmark,
    )
    inputs = "".join(f"{parameter(a)}, " for a in schema.arguments if not a.kwarg_only)
    keyword = ", ".join(f"{a.name!r}: {parameter(a)}" for a in schema.arguments if a.kwarg_only)
    extra = f", keyword_only_inputs={{{keyword}}}" if keyword else ""
    return [
        "outer = state()",
        "set_state(outer | NO_GRAD)",
        "try:",
        f"    setup_context(ctx=node, inputs=({inputs}), output={result}{extra})",
        "finally:",
        "    set_state(outer)",
        "if node.non_differentiable is not None:",
        f"    unmark(node, {result})",
        f"node._keep_saved({result})"
        if needs_extras()
        else f"if node.to_save: node._keep_saved({result})",
    ]


def _unmark(node: GeneratedNode, output: TensorBase) -> None:
    """Take the result out of the graph, if the user marked it as not differentiable."""
    if any([each is output for each in node.non_differentiable or ()]):
        output._grad_fn = None
        output._signature &= ~GRAD


def _record(
    formula: PythonFormula,
    cls: type[GeneratedNode],
    schema: FunctionSchema,
    values: tuple[Any, ...],
    output: Any,
) -> Any:
    node = cast(GeneratedNode, new_node(cls))
    edges: list[Any] = []
    is_list: list[tuple[int | None, bool]] = []
    needs: list[Any] = []
    for argument, value in zip(schema.arguments, values, strict=True):
        if argument.kwarg_only:
            break
        if _is_list(argument):
            items = list(value or ())
            found = [edge_of(item) for item in items]
            edges.extend(found)
            is_list.append((len(items), True))
            needs.append([edge is not None for edge in found])
        elif is_tensor_like(argument):
            edge = edge_of(value)
            edges.append(edge)
            is_list.append((None, True))
            needs.append(edge is not None)
        else:
            is_list.append((None, False))
            needs.append(False)
    if not any([edge is not None for edge in edges]):
        return output
    node.next_edges = tuple(edges)
    node.sequence_nr = next_sequence_nr()
    node.is_list = is_list
    node.needs = tuple(needs)
    outputs = output if isinstance(output, (tuple, list)) and len(schema.returns) > 1 else (output,)
    tensors: list[TensorBase] = []
    lengths: list[int | None] = []
    for each in outputs:
        if isinstance(each, (tuple, list)):
            tensors.extend(each)
            lengths.append(len(each))
        elif isinstance(each, TensorBase):
            tensors.append(each)
            lengths.append(None)
        else:
            lengths.append(NO_TENSOR)
    node.__dict__["_result_lengths"] = lengths
    metadata = [(tuple(tensor.array.shape), tensor.array.dtype) for tensor in tensors]
    node.input_metadata = metadata if len(metadata) != 1 else metadata[0]
    node._describe_outputs(tensors)
    for output_nr, tensor in enumerate(tensors):
        if tensor._signature & DTYPE_MASK & DIFFERENTIABLE:
            tensor._grad_fn = node
            tensor.output_nr = output_nr
            tensor._signature |= GRAD
    if formula.setup_context is not None:
        _set_up(formula, schema, node, values, output)
        skips = node.non_differentiable or ()
        for tensor in tensors:
            if any([tensor is each for each in skips]):
                tensor._grad_fn = None
                tensor._signature &= ~GRAD
    node._keep_saved(*tensors)
    return output


def _set_up(
    formula: PythonFormula,
    schema: FunctionSchema,
    node: GeneratedNode,
    values: tuple[Any, ...],
    output: Any,
) -> None:
    positional = tuple(
        [v for a, v in zip(schema.arguments, values, strict=True) if not a.kwarg_only]
    )
    keyword = {a.name: v for a, v in zip(schema.arguments, values, strict=True) if a.kwarg_only}
    extra = {"keyword_only_inputs": keyword} if keyword else {}
    before = state()
    set_state(before | NO_GRAD)
    try:
        assert formula.setup_context is not None
        formula.setup_context(ctx=node, inputs=positional, output=output, **extra)
    finally:
        set_state(before)


def _is_list(argument: Argument) -> bool:
    return "[" in spelling(argument) and is_tensor_like(argument)

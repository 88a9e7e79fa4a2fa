"""The Autograd functionality: composes routes that record, from formula records and the routes
below them.

A recording route is the text of the route below with lines before it that collect the edges of the
inputs, and lines after it that make the node. For `mul` on two tensors the latter are::

    node = Node()
    result._grad_fn = node
    node.next_edges = (self_edge, other_edge)
    node.sequence_nr = next_sequence_nr()
    node.input_metadata = (array.shape, array.dtype)
    ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail_dispatcher.calls.number_operands import tensor_of_number
from dovetail_dispatcher.calls.routes import Composition, compose, set_autograd_layer
from dovetail_dispatcher.calls.templates import RouteText
from dovetail_dispatcher.calls.templates.arguments import is_tensor_like, spelling
from dovetail_dispatcher.calls.templates.arguments import route_parameter as parameter
from dovetail_dispatcher.calls.templates.entry import numbers_allowed
from dovetail_dispatcher.schema import Argument
from dovetail_dispatcher.table.derivative_formula import Formula, PythonFormula, Saved
from dovetail_dispatcher.table.kernels import FORMULA, Kernel
from dovetail_dispatcher.table.operator import Operator
from dovetail_kernel import DTYPES, after_autograd_keyset, backends_of_signature
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.tensor.version import VersionCounter
from dovetail_kernel.types.signature import (
    DTYPE_MASK,
    GRAD,
    INFERENCE,
    PYTHON_COMPLEX,
    PYTHON_SCALAR,
    VIEW,
)

from ..graph.autograd_meta import gradient_edge, leaf_edge
from ..graph.function_node import DIFFERENTIABLE
from ..graph.node import next_sequence_nr
from ..graph.recording_extras import needs_extras, recorded, recording_extras
from ..graph.saved_slots import current_version, save_input, save_result, save_result_tensor
from ..graph.views import check_inplace, mark_view, rebase_history
from .edge_text import edge_lines, run_below_autograd
from .fused_recording import fused_route
from .node_classes import build_node_class
from .route_support import (
    NotImplementedNode,
    attach_list,
    copy_before_write,
    edge_of,
    edges_of,
    mark_views,
)

COMPLEX: Final = PYTHON_COMPLEX | sum([each.bit for each in DTYPES if each.is_complex])
"""The bits of a call key that say that some number in the call is complex."""

_fallback_mode = "error"


def _set_autograd_fallback_mode(mode: str) -> None:
    """Choose what becomes of calls that nobody knows how to differentiate.

    Parameters
    ----------
    mode
        ``'error'``: backward raises. ``'warn'``: backward warns and gives no gradient.
        ``'nothing'``: results do not require grad. Default at import: ``'error'``.

    Raises
    ------
    ValueError
        For another mode.
    """
    global _fallback_mode
    if mode not in ("error", "warn", "nothing"):
        raise ValueError(f"mode must be 'error', 'warn' or 'nothing', but got {mode!r}.")
    _fallback_mode = mode


def _get_autograd_fallback_mode() -> str:
    """Return what becomes of calls that nobody knows how to differentiate."""
    return _fallback_mode


def autograd_layer(composition: Composition, kernel: Kernel) -> RouteText:
    """Return the route of a call through the derived Autograd kernel or the Autograd fallback."""
    op = composition.op
    below = compose(composition.below(after_autograd_keyset))
    schema = op.schema
    formula = op.derivative if kernel.convention == FORMULA else None
    if formula is None:
        return _unknown(composition, below) if composition.records else below
    if isinstance(formula, PythonFormula):
        from .registered_derivative import python_formula_route

        return python_formula_route(composition, formula, below) if composition.records else below
    flags = formula.output_differentiability
    if flags is not None and not any(flags):
        if composition.records and _written(op) is not None:
            _guard_write(below, op)
        return below
    if composition.records:
        return Recording(composition, formula, below).text
    if schema._is_view_op() and not composition.state.inference:
        _add_view_lines(below, op, composition.key)
    return below


def view_layer(below: RouteText, op: Operator, key: int) -> None:
    """Let the route of a call in inference mode note whose views its results are; detach() makes
    none.
    """
    flags = op.formula.output_differentiability if isinstance(op.formula, Formula) else None
    if flags is None or any(flags):
        _add_view_lines(below, op, key)


def install() -> None:
    """Make calls record from now on."""
    set_autograd_layer(autograd_layer, view_layer, fused_route)


def _written(op: Operator) -> Argument | None:
    return next((a for a in op.schema.arguments if a.is_write and not a.kwarg_only), None)


def _guard_write(text: RouteText, op: Operator) -> None:
    written = _written(op)
    assert written is not None
    text.bindings["check_inplace"] = check_inplace
    text.lines.insert(0, f"check_inplace({parameter(written)}, False)")


def _add_view_lines(text: RouteText, op: Operator, key: int) -> None:
    source = next((a for a in op.schema.arguments if a.alias_info is not None), None)
    if source is None:
        return
    text.bindings.update(mark_view=mark_view, mark_views=mark_views)
    if len(text.results) == 1 and spelling(op.schema.returns[0]) == "Tensor":
        text.lines.append(f"mark_view({text.results[0]}, {parameter(source)})")
    elif len(text.results) == 1:
        text.lines.append(f"mark_views({text.results[0]}, {parameter(source)})")


class Recording:
    """One pass over a schema and a formula that adds the recording of a node to the route below."""

    def __init__(self, composition: Composition, formula: Formula, below: RouteText) -> None:
        self.op = op = composition.op
        self.key = composition.key
        self.formula = formula
        self.text = below
        self.arguments = {a.name: a for a in op.schema.arguments}
        self.inputs = [self.arguments[name] for name in formula.inputs]
        self.written = _written(op)
        self.is_view = op.schema._is_view_op() and self.written is None
        self.is_inline = "KEYS" not in below.bindings and "below" not in below.bindings
        has_list = any(
            spelling(a).startswith("Tensor[") or spelling(a).startswith("Tensor?[")
            for a in self.inputs
        )
        backends = backends_of_signature(self.key)
        on_arrays = (
            formula.arrays is not None
            and self.is_inline
            and not below.promoted
            and len(backends) == 1
        )
        self.backend = backends[0] if on_arrays and backends[0].is_device else None
        tensor_like = [a for a in op.schema.arguments if is_tensor_like(a) and not a.is_out]
        self.is_sure = not self.key & VIEW and all(a.name in formula.inputs for a in tensor_like)
        self.is_only = (
            self.is_sure and len(tensor_like) == 1 and spelling(tensor_like[0]) == "Tensor"
        )
        below.bindings.update(
            BACKEND=self.backend,
            GRAD=GRAD,
            VIEW=VIEW,
            DIFFERENTIABLE=DIFFERENTIABLE & DTYPE_MASK,
            Node=build_node_class(formula, has_list, not self.key & COMPLEX),
            VersionCounter=VersionCounter,
            attach_list=attach_list,
            check_inplace=check_inplace,
            copy_before_write=copy_before_write,
            current_version=current_version,
            edge_of=edge_of,
            edges_of=edges_of,
            is_column_major=self.backend.arrays.is_column_major if self.backend else _never,
            gradient_edge=gradient_edge,
            leaf_edge=leaf_edge,
            mark_view=mark_view,
            mark_views=mark_views,
            next_sequence_nr=next_sequence_nr,
            rebase_history=rebase_history,
            recorded=recorded,
            recording_extras=recording_extras,
            save_input=save_input,
            save_result=save_result,
            save_result_tensor=save_result_tensor,
        )
        if not self.is_inline:
            run_below_autograd(below)
        before = self.before()
        after = [*self.number(tensor_like), *self.after()]
        if self.written is not None and self.key & DTYPE_MASK & ~DIFFERENTIABLE:
            # What is written to may be of integers, which have no gradient.
            tensor = parameter(self.written)
            after = [
                f"if {tensor}._signature & DIFFERENTIABLE:",
                *[f"    {line}" for line in after],
            ]
        if self.is_sure:
            below.lines[:] = [*before, *below.lines, *after]
        else:
            below.lines[:] = [
                *before,
                *below.lines,
                f"if {self.any_edge()}:",
                *[f"    {line}" for line in after],
            ]
        if self.is_view:
            _add_view_lines(below, op, self.key)

    def number(self, tensor_like: Sequence[Argument]) -> list[str]:
        """Return the line that makes a tensor of a Python number, as array routes do, for the node
        to save.
        """
        if "numbers" in self.text.bindings or not self.key & PYTHON_SCALAR:
            return []
        if not numbers_allowed(self.op.schema, self.op.promote):
            return []
        self.text.bindings["tensor_of_number"] = tensor_of_number
        first, second = [parameter(a) for a in tensor_like]
        return [f"{second} = tensor_of_number({second}, [{first}])"]

    # -- before the call ---------------------------------------------------------------------------

    def before(self) -> list[str]:
        lines = []
        for name in self.formula.refused:
            self.text.bindings.update(refuse_gradient=_refuse_gradient, OPERATOR=self.op)
            tensor = parameter(self.arguments[name])
            lines.append(f"if {tensor} is not None: refuse_gradient(OPERATOR, {name!r}, {tensor})")
        for argument in self.inputs:
            lines += edge_lines(argument, self.key, is_only=self.is_only)
        if self.written is not None:
            name = parameter(self.written)
            lines.append(f"check_inplace({name}, {'True' if self.is_sure else self.any_edge()})")
            if any(
                saved.kind == "input" and saved.name == self.written.name
                for saved in self.formula.saved
            ):
                lines.append(f"{name}_overwritten = copy_before_write({name})")
            if self.key & INFERENCE:
                lines += self.check_savable()
        return lines

    def check_savable(self) -> list[str]:
        """Return the lines that refuse an inference tensor that would be saved, before anything is
        written.
        """
        lines = []
        for saved in self.formula.saved:
            if (
                self.written is None
                or saved.kind not in ("input", "list")
                or saved.name == self.written.name
            ):
                continue
            local = parameter(self.arguments[saved.name])
            check = (
                [f"save_input({local})"]
                if saved.kind == "input"
                else [f"for each in {local}:", "    save_input(each)"]
            )
            lines += self.if_needed(saved, check)
        return lines

    def any_edge(self) -> str:
        """Return the condition that some input requires grad."""
        tests = [
            f"any({parameter(a)}_edge)"
            if "[" in spelling(a)
            else f"{parameter(a)}_edge is not None"
            for a in self.inputs
        ]
        return " or ".join(tests)

    # -- after the call ----------------------------------------------------------------------------

    def after(self) -> list[str]:
        edges = [
            f"*{parameter(a)}_edge" if "[" in spelling(a) else f"{parameter(a)}_edge"
            for a in self.inputs
        ]
        lines = [
            "node = Node()",
            f"node.next_edges = ({', '.join(edges)},)",
            "node.sequence_nr = next_sequence_nr()",
            "node._array_backend = BACKEND",
            "node._node_hooks = None",
        ]
        lines += self.outputs()
        for saved in self.formula.saved:
            lines += self.save(saved)
        if self.written is not None:
            lines.append(f"rebase_history({parameter(self.written)}, node)")
        if needs_extras():
            lines += [
                "extras = recording_extras()",
                "if extras is not None:",
                "    recorded(node, extras)",
            ]
        return lines

    def outputs(self) -> list[str]:
        """Return the lines that put the node on the results, and their metadata on the node."""
        results = self.text.results
        returns = self.op.schema.returns
        if len(results) == 1 and len(returns) > 1:
            return self.list_outputs(results[0])
        if "output_mask" in self.arguments:
            return self.list_outputs(f"({', '.join(results)})")
        if len(results) == 1 and "[" in spelling(returns[0]):
            return self.list_outputs(results[0])
        if self.written is not None:
            name = parameter(self.written)
            return [f"node.input_metadata = ({name}.array.shape, {name}.array.dtype)"]
        flags = self.formula.output_differentiability or (True,) * len(results)
        described = []
        lines = []
        for output_nr, (result, is_differentiable) in enumerate(zip(results, flags, strict=False)):
            array = self.text.arrays.get(result, f"{result}.array")
            described.append(f"({array}.shape, {array}.dtype)")
            if not is_differentiable:
                continue
            lines += self.attach(result, output_nr)
        while (
            len(described) > 1 and not flags[len(described) - 1]
        ):  # as in PyTorch, not even undefined ones
            described.pop()
        metadata = described[0] if len(described) == 1 else f"[{', '.join(described)}]"
        return [f"node.input_metadata = {metadata}", *lines]

    def list_outputs(self, result: str) -> list[str]:
        metadata = "(each.array.shape, each.array.dtype)"
        if "output_mask" in self.arguments:
            metadata = f"None if each is None else {metadata}"
        return [
            f"node.input_metadata = [{metadata} for each in {result}]",
            f"attach_list({result}, node, DIFFERENTIABLE)",
        ]

    def attach(self, result: str, output_nr: int) -> list[str]:
        """Return the lines that make the node the maker of `result`, if its dtype can have
        gradients.
        """
        bits = self.key & DTYPE_MASK
        pointwise_float = self.op.kind == "pointwise" and bits & DIFFERENTIABLE == bits
        lines = [f"{result}._grad_fn = node"]
        if output_nr:
            lines.append(f"{result}.output_nr = {output_nr}")
        if pointwise_float and self.is_sure and self.text.arrays:
            for name in ("SIGNATURE", "ZERO_DIM_SIGNATURE", "BASE"):
                if name in self.text.bindings:
                    self.text.bindings[name] |= GRAD
            return lines
        lines.append(f"{result}._signature |= GRAD")
        return [f"if {result}._signature & DIFFERENTIABLE:", *[f"    {line}" for line in lines]]

    def save(self, saved: Saved) -> list[str]:
        """Return the lines that fill the slots of `saved`, if one of the inputs that need it
        requires grad.
        """
        slot = f"node._{saved.name}"
        return self.if_needed(saved, self.save_always(saved, slot), [f"{slot} = None"])

    def if_needed(self, saved: Saved, lines: list[str], otherwise: Sequence[str] = ()) -> list[str]:
        """Return `lines` such that they run where one of the inputs that need `saved` requires
        grad.
        """
        needed = [name for name in saved.needed_by if name in self.formula.inputs]
        if not needed or (set(needed) == set(self.formula.inputs) and self.is_sure):
            return lines
        tests = [
            f"any({parameter(self.arguments[name])}_edge)"
            if "[" in spelling(self.arguments[name])
            else f"{parameter(self.arguments[name])}_edge is not None"
            for name in needed
        ]
        guarded = [f"if {' or '.join(tests)}:", *[f"    {line}" for line in lines]]
        return [*guarded, "else:", *[f"    {line}" for line in otherwise]] if otherwise else guarded

    def save_always(self, saved: Saved, slot: str) -> list[str]:
        name = saved.name
        match saved.kind:
            case "input":
                argument = self.arguments[name]
                local = parameter(argument)
                if self.written is not None and name == self.written.name:
                    local = f"{local}_overwritten"
                if spelling(argument) == "Tensor?" or self.key & INFERENCE:
                    return [
                        f"{slot} = {local}",
                        f"{slot}_version = 0 if {local} is None else save_input({local})",
                    ]
                return [
                    f"{slot} = {local}",
                    f"counter = {local}._counter",
                    f"{slot}_version = 0 if counter is None else counter.value",
                ]
            case "list":
                local = parameter(self.arguments[name])
                return [
                    f"{slot} = tuple({local})",
                    f"{slot}_version = tuple([save_input(each) for each in {local}])",
                ]
            case "result":
                results = self.text.results
                returns = self.op.schema.returns
                result = (
                    results[saved.output]
                    if len(results) == len(returns)
                    else f"{results[0]}[{saved.output}]"
                )
                if self.backend is None:
                    return [f"{slot} = save_result_tensor({result})"]
                if result in self.text.arrays and not self.is_view:
                    return [
                        f"{result}._counter = counter = VersionCounter()",
                        f"{slot} = ({self.text.arrays[result]}, counter, 0)",
                    ]
                return [f"{slot} = save_result({result})"]
            case _:
                if not saved.expression:
                    return [f"{slot} = {parameter(self.arguments[name])}"]
                return [f"{slot} = {saved.expression}"]


def _refuse_gradient(op: Operator, name: str, tensor: TensorBase) -> None:
    if edge_of(tensor) is not None:
        raise RuntimeError(
            f"The function '{op.base_name}' is not differentiable with respect to argument "
            f"'{name}'. This input cannot "
            f"have requires_grad True. Give {name}.detach(), or call it in a no_grad() block."
        )


def _never(_array: Any) -> bool:
    return False


def _unknown(composition: Composition, below: RouteText) -> RouteText:
    """Return the route of an operator without formula: they raise in backward unless they have a
    graph already.
    """
    op = composition.op
    schema = op.schema
    arguments = ", ".join(
        parameter(a) for a in schema.arguments if is_tensor_like(a) and not a.is_out
    )
    outs = [a for a in schema.arguments if a.is_out]
    if outs:
        below.bindings.update(refuse_out=_refuse_out, OPERATOR=op)
        outputs = ", ".join(parameter(a) for a in outs)
        below.lines.insert(
            0, f"refuse_out(OPERATOR, [{arguments}{', ' if arguments else ''}{outputs}])"
        )
        return below
    written = _written(op)
    if written is not None:
        _guard_write(below, op)
    if not below.results:
        return below
    below.bindings.update(mark_unknown=_mark_unknown, OPERATOR=op, WRITTEN=written is not None)
    below.lines.append(
        f"mark_unknown(OPERATOR, [{arguments}], [{', '.join(below.results)}], WRITTEN)"
    )
    return below


def _refuse_out(op: Operator, tensors: Sequence[Any]) -> None:
    for tensor in tensors:
        if edge_of(tensor) is not None:
            raise RuntimeError(
                f"{op.base_name}(): functions with out=... arguments don't support automatic "
                "differentiation, "
                "but one of the "
                "arguments requires grad. Leave out out=, or do it in a no_grad() block."
            )


def _mark_unknown(op: Operator, arguments: list[Any], results: list[Any], written: bool) -> None:
    if _fallback_mode == "nothing":
        return
    flat = [
        each
        for result in results
        for each in (result if isinstance(result, (list, tuple)) else [result])
    ]
    made = [
        each
        for each in flat
        if isinstance(each, TensorBase)
        and each._signature & DIFFERENTIABLE
        and (
            written
            or (not each._signature & GRAD and not any(each is argument for argument in arguments))
        )
    ]
    if not made:
        return
    name = f"{op.name.replace('::', '.')}.{op.overload or 'default'}"
    node = NotImplementedNode(
        name, arguments, made, op.qualified_name if _fallback_mode == "warn" else None
    )
    if not node.next_edges:
        return
    for output_nr, result in enumerate(made):
        if written:
            rebase_history(result, node, output_nr)
        else:
            result._grad_fn = node
            result.output_nr = output_nr
            result._signature |= GRAD

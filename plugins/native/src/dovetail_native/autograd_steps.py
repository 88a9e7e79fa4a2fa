"""Instructions for the steps of autograd: edges, nodes, what these save. Imported when autograd is
installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from dovetail_autograd import plan_steps as autograd
from dovetail_dispatcher.calls import Step, Value
from dovetail_dispatcher.compilation import compile_source
from dovetail_kernel.signature import DTYPE_MASK, GRAD, VIEW

from ._core import OPERANDS, is_bare_class, set_view_class, slot_offset
from .assembler import Assembler, LoweredOperand, NotLoweredError
from .dispatcher_steps import LOWERINGS, lower_all

_WAYS = {"tensor": 0, "recorded": 1, "view": 2, "ask": 3, "list": 4}
_OF_VIEW, _IS_LIST = 1, 2
_DIFFERENTIABLE = autograd.DIFFERENTIABLE & DTYPE_MASK
_ATTRIBUTES = re.compile(r"(?:(\w+)\()?(\w+)\.([\w.]+)(?(1)\))")
"""What `attrgetter` reads, without a frame of Python, and perhaps a function of it."""

set_view_class(autograd.DifferentiableViewMeta)


# -- edges -----------------------------------------------------------------------------------------


def _find_edge(step: autograd.FindEdge, to: Assembler) -> None:
    edge, argument = to.register(step.edge.value), to.register(step.argument)
    to.emit(
        "FIND_EDGE",
        edge,
        argument,
        flags=_WAYS[step.way],
        slot=GRAD,
        bits=VIEW,
        objects=(autograd.leaf_edge, autograd.gradient_edge),
    )


def _edges(edges: tuple[autograd.Edge, ...], to: Assembler) -> list[LoweredOperand]:
    return [
        to.spread(to.register(edge.value)) if edge.is_list else to.value(edge.value)
        for edge in edges
    ]


def _if_any_edge(step: autograd.IfAnyEdge, to: Assembler) -> None:
    _branch(step, lambda steps: lower_all(steps, to), to)


def _branch(
    step: autograd.IfAnyEdge, add: Callable[[tuple[Step, ...]], None], to: Assembler
) -> None:
    """Add both branches of a condition by `add`."""
    none = to.emit("UNLESS_EDGE", operands=_edges(step.edges, to))
    add(step.steps)
    over = to.emit("JUMP")
    to.land(none)
    add(step.otherwise)
    to.land(over)


# -- nodes -----------------------------------------------------------------------------------------


def _slot(node_class: type, name: str) -> int:
    try:
        return slot_offset(node_class, name)
    except (AttributeError, TypeError):
        raise NotLoweredError(f"{node_class.__name__}.{name} is no slot") from None


def _record_node(step: autograd.RecordNode, to: Assembler) -> None:
    cls = step.node_class
    if not is_bare_class(cls):
        raise NotLoweredError(f"{cls.__name__} has __new__ or __init__")
    jumps = []
    if step.if_any:
        jumps.append(to.emit("UNLESS_EDGE", operands=_edges(step.if_any, to)))
    if step.if_differentiable is not None:
        tensor = to.register(step.if_differentiable)
        jumps.append(to.emit("UNLESS_BITS", tensor, bits=_DIFFERENTIABLE))
    uncast = [each for pair in step.uncast for each in pair] if step.backend is not None else []
    to.emit(
        "NODE",
        to.register(autograd.NODE),
        slot=_slot(cls, "next_edges"),
        slot2=_slot(cls, "_array_backend"),
        target=_slot(cls, "_node_hooks"),
        objects=(
            cls,
            step.backend,
            autograd.sequence_numbers,
            tuple([_slot(cls, name) for name in step.numbers]),
            bytes([to.register(each) for each in step.makes]),
            bytes([to.register(each) for each in uncast]),
        ),
        operands=_edges(step.edges, to),
    )
    _add_parts(step.parts, cls, to)
    to.land(*jumps)


def _add_parts(parts: tuple[Step, ...], cls: type, to: Assembler) -> None:
    for part in parts:
        if isinstance(part, autograd.IfAnyEdge):
            _branch(part, lambda steps: _add_parts(steps, cls, to), to)
        elif type(part) in _PARTS:
            _PARTS[type(part)](part, cls, to)
        else:
            lower_all((part,), to)


def _describe(step: autograd.DescribeResults, cls: type, to: Assembler) -> None:
    operands = [to.operand(each) for each in step.arrays]
    node, slot = to.register(autograd.NODE), _slot(cls, "input_metadata")
    to.emit("DESCRIBE", node, slot=slot, operands=operands)


def _attach(step: autograd.AttachResult, cls: type, to: Assembler) -> None:
    to.emit(
        "ATTACH",
        to.register(autograd.NODE),
        to.register(step.result),
        bits=_DIFFERENTIABLE,
        objects=(step.output_nr, GRAD),
    )


def _attach_list(step: autograd.AttachList, cls: type, to: Assembler) -> None:
    if step.may_be_none or step.flags is not None or not isinstance(step.results, Value):
        raise NotLoweredError("AttachList of some results")
    node, results = to.register(autograd.NODE), to.register(step.results)
    arrays = (OPERANDS["ARRAYS"], results, None)
    to.emit("DESCRIBE", node, slot=_slot(cls, "input_metadata"), operands=[arrays])
    to.emit("ATTACH", node, results, flags=1, bits=_DIFFERENTIABLE, objects=(None, GRAD))


# -- what a node saves -----------------------------------------------------------------------------


def _save_tensor(step: autograd.SaveTensor, cls: type, to: Assembler) -> None:
    node, tensor = to.register(autograd.NODE), to.register(step.tensor)
    slot, version_slot = _slot(cls, step.slot), _slot(cls, f"{step.slot}_version")
    if step.version is not None or not step.is_checked:
        version = 0 if step.version is None else to.register(step.version)
        is_noted = int(step.version is not None)
        to.emit("SAVE_TENSOR", node, tensor, version, flags=is_noted, slot=slot, slot2=version_slot)
        return
    to.emit("SAVE_VALUE", node, slot=slot, operands=[to.at(tensor)])
    absent = to.emit("UNLESS_GIVEN", tensor)
    noted = to.fresh()
    to.call(autograd.save_input, [to.at(tensor)], noted)
    to.emit("SAVE_VALUE", node, slot=version_slot, operands=[to.at(noted)])
    over = to.emit("JUMP")
    to.land(absent)
    to.emit("SAVE_VALUE", node, slot=version_slot, operands=[to.constant(0)])
    to.land(over)


def _save_list(step: autograd.SaveList, cls: type, to: Assembler) -> None:
    node, tensors = to.register(autograd.NODE), to.register(step.tensors)
    kept, versions = to.fresh(), to.fresh()
    to.call(tuple, [to.at(tensors)], kept)
    if step.version is None:
        to.call(autograd.save_inputs, [to.at(tensors)], versions)
    else:
        versions = to.register(step.version)
    to.emit("SAVE_VALUE", node, slot=_slot(cls, step.slot), operands=[to.at(kept)])
    slot = _slot(cls, f"{step.slot}_version")
    to.emit("SAVE_VALUE", node, slot=slot, operands=[to.at(versions)])


def _save_value(step: autograd.SaveValue, cls: type, to: Assembler) -> None:
    if isinstance(step.value, autograd.FormulaExpression):
        value = _expression(step.value, to)
    else:
        value = to.operand(step.value)
    node = to.register(autograd.NODE)
    to.emit("SAVE_VALUE", node, slot=_slot(cls, step.slot), operands=[value])


def _expression(expression: autograd.FormulaExpression, to: Assembler) -> LoweredOperand:
    """Return the operand for an expression of a formula, which is a function of its values."""
    names, made = expression.named(), to.fresh()
    if (read := _ATTRIBUTES.fullmatch(expression.source)) is not None:
        function, name, path = read.groups()
        to.call(attrgetter(path), [to.value(names[name])], made)
        if function:
            to.call(expression.functions[function], [to.at(made)], made)
        return to.at(made)
    text = f"def expression({', '.join(names)}):\n    return {expression.source}\n"
    computed = compile_source(text, "expression", dict(expression.functions))
    to.call(computed, [to.value(value) for value in names.values()], made)
    return to.at(made)


def _save_nothing(step: autograd.SaveNothing, cls: type, to: Assembler) -> None:
    node, slot = to.register(autograd.NODE), _slot(cls, step.slot)
    to.emit("SAVE_VALUE", node, slot=slot, operands=[to.constant(None)])


def _save_result(step: autograd.SaveResult, cls: type, to: Assembler) -> None:
    node, slot = to.register(autograd.NODE), _slot(cls, step.slot)
    if step.is_for_arrays and step.array is not None and isinstance(step.result, Value):
        result, array = to.register(step.result), to.register(step.array)
        to.emit("SAVE_RESULT", node, result, array, slot=slot)
        return
    save = autograd.save_result if step.is_for_arrays else autograd.save_result_tensor
    saved = to.fresh()
    to.call(save, [to.operand(step.result)], saved)
    to.emit("SAVE_VALUE", node, slot=slot, operands=[to.at(saved)])


def _note_version(step: autograd.NoteVersion, to: Assembler) -> None:
    version, tensor = to.register(step.version), to.register(step.tensor)
    if step.is_list:
        to.call(autograd.save_inputs, [to.at(tensor)], version)
    elif step.is_checked:
        to.call(autograd.save_input, [to.at(tensor)], version)
    else:
        to.emit("NOTE_VERSION", version, tensor)


# -- writes ----------------------------------------------------------------------------------------


def _rebase_history(step: autograd.RebaseHistory, to: Assembler) -> None:
    to.call(autograd.rebase_history, [to.value(step.written), to.value(autograd.NODE)])


def _check_inplace(step: autograd.CheckInplace, to: Assembler) -> None:
    written = to.value(step.written)
    if not step.edges:
        to.call(autograd.check_inplace, [written, to.constant(step.is_recorded)])
        return
    none = to.emit("UNLESS_EDGE", operands=_edges(step.edges, to))
    to.call(autograd.check_inplace, [written, to.constant(True)])
    if step.has_own:
        to.land(none)
        return
    over = to.emit("JUMP")
    to.land(none)
    to.call(autograd.check_inplace, [written, to.constant(False)])
    to.land(over)


def _copy_before_write(step: autograd.CopyBeforeWrite, to: Assembler) -> None:
    to.call(autograd.copy_before_write, [to.value(step.written)], to.register(step.copy))


_PARTS: Final[dict[type[Step], Callable[[Any, type, Assembler], None]]] = {
    autograd.AttachList: _attach_list,
    autograd.AttachResult: _attach,
    autograd.DescribeResults: _describe,
    autograd.SaveList: _save_list,
    autograd.SaveNothing: _save_nothing,
    autograd.SaveResult: _save_result,
    autograd.SaveTensor: _save_tensor,
    autograd.SaveValue: _save_value,
}
"""Adds the instructions of what is done to a node, by its class."""

# -- views -----------------------------------------------------------------------------------------


def _mark_view(step: autograd.MarkView, to: Assembler) -> None:
    result, source = to.register(step.result), to.register(step.source)
    if not step.is_new:
        mark = autograd.mark_views if step.is_list else autograd.mark_view
        to.call(mark, [to.at(result), to.at(source)])
        return
    objects = (step.creation, autograd.CreationMeta.DEFAULT)
    flags = _OF_VIEW if step.of_view else 0
    flags |= _IS_LIST if step.is_list else 0
    to.emit("MARK_VIEW", result, source, flags=flags, objects=objects)


# -- fusions ---------------------------------------------------------------------------------------


def _unless_fitting(step: autograd.UnlessFitting, to: Assembler) -> None:
    unfit = [to.emit("UNLESS_GIVEN", to.register(value)) for value in step.optional]
    unfit += [to.emit("UNLESS_NDIM", to.register(value), bits=count) for value, count in step.dims]
    over = to.emit("JUMP")
    to.land(*unfit)
    _run_composite(step, to)
    to.land(over)


def _unless_edge(step: autograd.UnlessEdge, to: Assembler) -> None:
    absent = to.emit("UNLESS_GIVEN", to.register(step.edge.value))
    over = to.emit("JUMP")
    to.land(absent)
    _run_composite(step, to)
    to.land(over)


def _unless_unwatched(step: autograd.UnlessUnwatched, to: Assembler) -> None:
    extras = to.fresh()
    to.call(autograd.recording_extras, [], extras)
    over = to.emit("UNLESS_GIVEN", extras)
    _run_composite(step, to)
    to.land(over)


def _run_composite(step: Any, to: Assembler) -> None:
    result = to.fresh()
    to.call(step.composite, map(to.value, step.arguments), result)
    to.emit("RETURN", operands=[to.at(result)])


# -- what is refused, and extras -------------------------------------------------------------------


def _refuse_gradient(step: autograd.RefuseGradient, to: Assembler) -> None:
    argument = to.register(step.argument)
    absent = to.emit("UNLESS_GIVEN", argument)
    name = step.argument.name
    to.call(autograd.refuse_gradient, [to.constant(step.op), to.constant(name), to.at(argument)])
    to.land(absent)


def _handle_extras(step: autograd.HandleExtras, to: Assembler) -> None:
    extras = to.fresh()
    to.call(autograd.recording_extras, [], extras)
    unwanted = to.emit("UNLESS_GIVEN", extras)
    to.call(autograd.recorded, [to.value(autograd.NODE), to.at(extras)])
    to.land(unwanted)


LOWERINGS.update(
    {
        autograd.CheckInplace: _check_inplace,
        autograd.CopyBeforeWrite: _copy_before_write,
        autograd.FindEdge: _find_edge,
        autograd.HandleExtras: _handle_extras,
        autograd.IfAnyEdge: _if_any_edge,
        autograd.MarkView: _mark_view,
        autograd.NoteVersion: _note_version,
        autograd.RebaseHistory: _rebase_history,
        autograd.RecordNode: _record_node,
        autograd.RefuseGradient: _refuse_gradient,
        autograd.UnlessEdge: _unless_edge,
        autograd.UnlessFitting: _unless_fitting,
        autograd.UnlessUnwatched: _unless_unwatched,
    }
)

"""The kernel of all calls on wrapped tensors, and the steps that all their interpreters share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovetail_dispatcher import OpOverload, dispatch_modes
from dovetail_dispatcher.calls import note_views, strip_defaults, tensor_of_number
from dovetail_dispatcher.interception import python_fallback
from dovetail_dispatcher.schema import FunctionSchema, default_of
from dovetail_kernel import (
    DispatchKey,
    TensorBase,
    bump_version,
    set_state,
    share_storage,
    share_version,
    state,
)
from dovetail_kernel.keys import PYTHON_DISPATCH, below_ad_inplace_or_view
from dovetail_kernel.signature import WRAPPED_BIT

from ...graph.engine_ops import has_memory
from ..pytree import flatten
from .arrays import WrappedArray, wrapped
from .captured_writes import keep_number
from .wrapped_functions import MissingRule, undifferentiable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .levels import Level

_NOT_PLAIN: Final = WRAPPED_BIT | PYTHON_DISPATCH
_modes: Final = dispatch_modes.active


def run_wrapped(
    op: OpOverload,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    autograd: Callable[[tuple[object, ...], Mapping[str, object]], object] | None = None,
) -> Any:
    """Run a call with wrapped tensors among its arguments by the interpreter of the deepest level.

    Parameters
    ----------
    op
        The OpOverload.
    args, kwargs
        All arguments of the schema: the keyword-only ones by name.
    autograd
        The kernel that a library has registered for the Autograd key, if it is that which was
        reached. Default: None.
    """
    level: Level | None = None
    asked: list[TensorBase] = []
    for given in (*args, *kwargs.values()) if kwargs else args:
        for value in given if isinstance(given, (list, tuple)) else (given,):
            if isinstance(value, TensorBase) and value._signature & _NOT_PLAIN:
                if value._signature & PYTHON_DISPATCH:
                    asked.append(value)
                    continue
                its: Level = value.array.level
                if level is None or its.depth > level.depth:
                    level = its
    assert level is not None  # a wrapped tensor is among the arguments
    if (_modes() and level.is_behind_modes()) or (
        asked and any([is_asked_before(each, level) for each in asked])
    ):
        given, named = strip_defaults(op._schema, *args, *kwargs.values())
        return python_fallback(op, *given, **named)
    if autograd is None:
        return level.run_outside(level.interpret, op, args, kwargs)
    try:
        return autograd(args, kwargs)
    except MissingRule as error:
        if not level.maps_samples:
            raise
        # The physical calls reach the kernel with tensors that are not wrapped at this level.
        outputs = level.run_outside(level.interpret, op, args, kwargs)
        return undifferentiable(outputs, list(tensors_in(args, kwargs)), str(error))


def is_asked_before(wrapper: TensorBase, level: Level) -> bool:
    """Return whether the class of a tensor with ``__torch_dispatch__``, or a mode, sees its calls
    before the level does.
    """
    return level.has_modes_inside() or holds(wrapper, level)


def holds(wrapper: TensorBase, level: Level) -> bool:
    """Return whether a tensor with ``__torch_dispatch__`` was made of tensors of `level`, or of one
    inside: its class has to be asked first.
    """
    for value in flatten(vars(wrapper))[0]:
        if isinstance(value, TensorBase):
            if value._signature & PYTHON_DISPATCH:
                if holds(value, level):
                    return True
            elif value._signature & WRAPPED_BIT and value.array.level.depth >= level.depth:
                return True
    return False


def bound_arguments(
    schema: FunctionSchema, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, Any]:
    """Return the value of every argument of a call by name, those left out included."""
    given = dict(
        zip([a.name for a in schema.arguments if not a.kwarg_only], args, strict=False), **kwargs
    )
    return {a.name: given[a.name] if a.name in given else default_of(a) for a in schema.arguments}


def numbers_as_tensors(schema: FunctionSchema, args: tuple[object, ...]) -> tuple[Any, ...]:
    """Return the arguments of a call with a 0-d tensor for a Python number where the schema has a
    Tensor.
    """
    for argument, value in zip(schema.arguments, args, strict=False):
        if isinstance(value, (bool, int, float, complex)) and argument.kind == "Tensor":
            tensors = [each for each in args if isinstance(each, TensorBase)]
            return tuple(
                [
                    tensor_of_number(each, tensors)
                    if isinstance(each, (bool, int, float, complex)) and a.kind == "Tensor"
                    else each
                    for a, each in zip(schema.arguments, args, strict=False)
                ]
            )
    return args


def tensors_in(args: Sequence[object], kwargs: Mapping[str, object]) -> Iterator[TensorBase]:
    """Iterate over the tensors of a call, those in lists included."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            for each in value:
                if isinstance(each, TensorBase):
                    yield each


def map_tensors(
    function: Callable[[TensorBase], object], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with `function` applied to every tensor."""

    def of(value: object) -> Any:
        if isinstance(value, TensorBase):
            return function(value)
        if isinstance(value, (list, tuple)) and any(
            [isinstance(each, TensorBase) for each in value]
        ):
            return [function(each) if isinstance(each, TensorBase) else each for each in value]
        return value

    mapped = (TensorBase, list, tuple)
    return (
        tuple([of(value) if isinstance(value, mapped) else value for value in args]),
        {name: of(value) for name, value in kwargs.items()},
    )


def present(op: OpOverload, args: Sequence[object], kwargs: dict[str, object], outputs: Any) -> Any:
    """Return what users get for the physical results of a call: wrapped tensors, and what was
    written as it was given.

    Parameters
    ----------
    op, args, kwargs
        The call, with its wrapped arguments.
    outputs
        One per return of the schema: a `WrappedArray`, which becomes a tensor; anything else stays
        as it is. For a return that is an argument, written in place, it does not matter.
    """
    schema = op._schema
    returns = schema.returns
    if not returns:
        note_writes(op, args, kwargs)
        return None
    several = len(returns) > 1
    given = (
        bound_arguments(schema, args, kwargs)
        if any([r.alias_info is not None for r in returns])
        else {}
    )
    made: list[Any] = []
    for item, output in zip(returns, outputs if several else (outputs,), strict=True):
        alias = item.alias_info
        source = None
        if alias is not None:
            sources = [
                given[a.name]
                for a in schema.arguments
                if a.alias_info and _shares(a.alias_info, alias)
            ]
            source = sources[0] if sources else None
        if alias is not None and alias.is_write and isinstance(source, TensorBase):
            made.append(source)
        elif isinstance(output, (list, tuple)):
            made.append([_presented(each, source) for each in output])
        else:
            made.append(_presented(output, source))
        if source is not None and not several and alias is not None and not alias.is_write:
            note_view(op, made[0], source, args, kwargs)
    if op._operator.kind == "unmarked_view":
        _show(op, made[0], args, kwargs)
    note_writes(op, args, kwargs)
    return tuple(made) if several else made[0]


def _show(op: OpOverload, results: Any, args: Sequence[Any], kwargs: Mapping[str, object]) -> None:
    """Let the results of an unmarked view share the storage of what they show: each counts its
    writes by itself.
    """
    for each in results if isinstance(results, list) else (results,):
        if isinstance(each, TensorBase):
            each._storage = share_storage(args[0])
    note_view(op, results, args[0], args, kwargs)


def note_view(
    op: OpOverload, results: Any, source: Any, args: Sequence[object], kwargs: Any
) -> None:
    """Note by which operator `results`, of a call with the wrapped tensor `source` as its first
    argument, show what it shows, where there is no memory that strides tell places of.
    """
    if isinstance(source, TensorBase) and source._storage is not None and not has_memory(source):
        note_views(op, results, source, args[1:], kwargs)


def _shares(argument: Any, result: Any) -> bool:
    """Return whether a result shows an argument; that of a list is said of its elements."""
    shown = result if result.contained is None else result.contained
    return bool(argument.before_set & shown.before_set)


def _presented(output: object, source: object) -> Any:
    if not isinstance(output, WrappedArray):
        if isinstance(source, TensorBase) and isinstance(output, TensorBase):
            keep_number(output, source)  # a view that left the wrapper
        return output
    result = wrapped(output.physical, output.level, output)
    if isinstance(source, TensorBase):
        result._storage = share_storage(source)
        result._counter = share_version(source)
    return result


def note_writes(op: OpOverload, args: Sequence[object], kwargs: dict[str, object]) -> None:
    """Count the writes of a call to its wrapped arguments, unless a kernel at ADInplaceOrView
    does.
    """
    schema = op._schema
    if not schema.is_mutable or op._operator.newest(DispatchKey.ADInplaceOrView) is not None:
        return
    for name, value in bound_arguments(schema, args, kwargs).items():
        if any([a.is_write for a in schema.arguments if a.name == name]):
            for tensor in [value] if isinstance(value, TensorBase) else value or ():
                if isinstance(tensor, TensorBase) and tensor._signature & WRAPPED_BIT:
                    bump_version(tensor)


def decomposition(op: OpOverload) -> Callable[..., Any] | None:
    """Return the kernel that makes the operator of others, if it may be run on wrapped tensors;
    None if there is none.

    Only the base library promises that its CompositeExplicitAutograd kernels are made of operators:
    elsewhere one is an implementation for every device, which may well take the arrays out of its
    tensors.
    """
    if op.namespace != "aten":
        return None
    for key in (
        DispatchKey.CompositeExplicitAutograd,
        DispatchKey.CompositeExplicitAutogradNonFunctional,
    ):
        kernel = op._operator.newest(key)
        if kernel is not None:
            return kernel.fn
    return None


def run_decomposed(
    level: Level,
    kernel: Callable[..., Any],
    op: OpOverload,
    args: Sequence[object],
    kwargs: dict[str, object],
) -> Any:
    """Run the decomposition of an operator on the wrapped arguments: below Autograd, which has been
    passed.

    Captured tensors are enclosed in `level` as well. Otherwise a call inside of the kernel whose
    arguments are all captured would run below the Autograd of the physical calls, and be lost to
    their graph.
    """
    before = state()
    try:
        set_state(below_ad_inplace_or_view(before))
        schema = op._schema
        given = bound_arguments(schema, args, kwargs)
        read = {a.name: given[a.name] for a in schema.arguments if not a.is_write}
        given.update(map_tensors(level.enclosed, (), read)[1])
        named = {a.name: given.pop(a.name) for a in schema.arguments if a.kwarg_only}
        return kernel(*given.values(), **named)
    finally:
        set_state(before)

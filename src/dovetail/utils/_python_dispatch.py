"""``dovetail.utils._python_dispatch``: modes below autograd, and what authors of wrapper subclasses
need.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from dovetail_aten import Tensor
from dovetail_dispatcher import OpOverload, TorchDispatchMode, dispatch_modes
from dovetail_kernel import share_storage, share_version

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Call `func`."""
        return func(*args, **(kwargs or {}))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether any dispatch mode is active. There are no modes here that would not count."""
    return bool(dispatch_modes.modes)


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """Return the innermost active mode."""
    modes = dispatch_modes.modes
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """Return the active modes, outermost first."""
    return list(dispatch_modes.modes)


def _push_mode(mode: TorchDispatchMode) -> None:
    """Make `mode` the innermost, until it is popped; ``with mode:`` takes care of that by
    itself.
    """
    dispatch_modes.push(mode)


def _pop_mode() -> Any:
    """Take away the innermost mode and return it; raises RuntimeError if there is none."""
    return dispatch_modes.pop()


def _pop_mode_temporarily() -> AbstractContextManager[Any]:
    """Return a context in which the innermost mode is not active; it is the context's value."""
    return dispatch_modes.popped()


def _disable_current_modes() -> AbstractContextManager[list[Any]]:
    """Return a context in which no mode is active; its value is the list of those that were."""
    return dispatch_modes.disabled()


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Return whether `t` is an instance of a wrapper subclass that tells what it wraps.

    Such a class has ``__tensor_flatten__(self)``, which returns the names of the attributes that
    hold tensors and anything else that is needed, and the static ``__tensor_unflatten__(inner,
    meta, size, stride)``, the way back.
    """
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return whether `t` is a class as `is_traceable_wrapper_subclass` describes it."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any,
    callback: Callable[[str, Tensor], Tensor],
    outer_size: Any = None,
    outer_stride: Any = None,
) -> Any:
    """Return a wrapper like `t` around what `callback` makes of the name and value of every tensor
    that it wraps.

    Parameters
    ----------
    t
        An instance for which `is_traceable_wrapper_subclass` holds.
    callback
        Takes the name of the attribute and the tensor.
    outer_size, outer_stride
        Shape and strides of the result; default: those of `t`.
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(
    func: OpOverload, args: Sequence[object], kwargs: Mapping[str, object], out: Any
) -> Any:
    """Return `out`, what a ``__torch_dispatch__`` computed, with the aliases that the schema of
    `func` promises.

    What an in-place or ``out=`` operator returns is the argument that it writes, and a view shares
    the storage of what it is a view of, so that others can tell.

    Parameters
    ----------
    func, args, kwargs
        As the handler got them.
    out
        The results, made anew.

    Raises
    ------
    RuntimeError
        If the number of results is not that of the schema.
    """
    schema = func._schema
    returns = schema.returns
    results = list(out) if len(returns) > 1 else [out]
    if len(results) != len(returns) and returns:
        raise RuntimeError(
            f"{func} has {len(returns)} results, but {len(results)} were given: return one per "
            "result."
        )
    for position, declared in enumerate(returns):
        info = declared.alias_info
        if info is None:
            continue
        for place, argument in enumerate(schema.arguments):
            own = argument.alias_info
            if own is None or not own.before_set & info.after_set:
                continue
            value = kwargs.get(argument.name, args[place] if place < len(args) else None)
            if info.is_write:
                results[position] = value
            else:
                for view in _tensors(results[position]):
                    if isinstance(value, Tensor) and view is not value:
                        view._storage = share_storage(value)
                        view._counter = share_version(value)
    return tuple(results) if len(returns) > 1 else results[0]


def _tensors(value: object) -> Iterator[Any]:
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, Tensor):
            yield each

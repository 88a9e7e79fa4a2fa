"""The common part of all factories: the way from the options of a call to the kernel, ``out``, and
``requires_grad``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dovetail_dispatcher.calls import resize_out
from dovetail_dispatcher.interception import call_overrides
from dovetail_dispatcher.table import registry
from dovetail_kernel import (
    Device,
    Layout,
    TensorBase,
    dispatch_state,
    get_default_dtype,
    state,
    warn_user,
)
from dovetail_kernel import dtype as DType
from dovetail_kernel.devices import chosen_devices
from dovetail_kernel.keys import inference_mode_on
from dovetail_kernel.short_tracebacks import shorten_traceback
from dovetail_kernel.signature import DTYPE_MASK, GRAD, INFERENCE, NO_GRAD, NORMAL, VIEW, ZERO_DIM

from ..._generated import functions as aten
from ...backend.backend_select import (
    check_layout,
    factory_route,
    factory_routes,
    is_selected_here,
    route_below,
)
from ...backend.devices import as_device, backend_for
from ...backend.pinned_memory import check_pinning
from ...calling.compiled_entries import factory_entry, like_entry
from ...templates.numpy_names import NUMPY_NAMES
from ...typing import Tensor
from ..data.dtype_arguments import as_dtype

if TYPE_CHECKING:
    from dovetail_dispatcher import Operator

    from ...calling.compiled_entries import Arrangement

_CPU: Final = Device("cpu")


class Factory:
    """A factory operator, called past the choice of its backend where no mode and no kernel over
    that choice applies.
    """

    __slots__ = ("_arrange", "_default", "_function", "_known", "_name", "_op")

    def __init__(
        self,
        name: str,
        overload: str = "",
        *,
        default: Any = get_default_dtype,
        arrange: Arrangement | None = None,
    ) -> None:
        self._name = name
        self._function: Any = None
        self._op = registry.find_or_throw(f"aten::{name}", overload)
        self._default = default
        self._arrange = arrange
        self._known = factory_routes(self._op)  # on the cpu, by state

    def called_by(self, function: Callable[..., object]) -> Any:
        """Return the entry before the public function that calls the factory, which function modes
        get to see.
        """
        self._function = factory_entry(self._op, self._known, function, self._arrange)
        return self._function

    def __call__(
        self,
        leading: tuple[object, ...],
        dtype: Any,
        layout: Layout | None,
        device: Any,
        pin_memory: bool | None,
        requires_grad: bool,
        out: Tensor | None,
        tail: tuple[object, ...] = (),
    ) -> Tensor:
        """Return the new tensor: the `leading` arguments of the schema, then the options that all
        factories share.
        """
        try:
            if (
                device is None
                and out is None
                and layout is None
                and not pin_memory
                and (dtype is None or dtype.__class__ is DType)
                and chosen_devices()[-1] is None
            ):
                route = self._known.get(state())
                if route is not None:
                    if dtype is None:
                        dtype = self._default()
                    made = route(*leading, dtype, None, _CPU, None, *tail)
                    if requires_grad:
                        made.requires_grad = requires_grad
                    result: Any = made
                    return result  # type: ignore[no-any-return]
            return self._checked(
                leading, dtype, layout, device, pin_memory, requires_grad, out, tail
            )
        except Exception as error:
            shorten_traceback(error)
            raise

    def _checked(
        self,
        leading: tuple[object, ...],
        dtype: Any,
        layout: Layout | None,
        device: Any,
        pin_memory: bool | None,
        requires_grad: bool,
        out: Tensor | None,
        tail: tuple[object, ...],
    ) -> Tensor:
        """Do the same for any options, and remember the route of those that most calls have."""
        op = self._op
        if dtype is not None and dtype.__class__ is not DType:
            dtype = as_dtype(dtype, self._name)
        if out is not None or pin_memory or layout is not None:
            if out is not None:
                check_out(self._name, out)
            dtype, device = _checked_options(self._name, dtype, layout, device, pin_memory, out)
        now, place = state(), as_device(device)
        is_selected = is_selected_here(op)
        if not _is_plain(now) or place.index is not None or not is_selected or pin_memory:
            options = {
                "dtype": dtype,
                "device": None if device is None else place,
                "pin_memory": pin_memory or None,
            }
            if tail:
                options["memory_format"] = tail[0]
            given = {name: value for name, value in options.items() if value is not None}
            if dispatch_state(now).function_modes:
                made = call_overrides(self._function, (), leading, given)
            else:
                made = op.handle(*leading, **given)
        else:
            if place.type == "cpu":
                route = factory_route(op, self._known, backend_for(place), now)
            else:
                route = route_below(op, backend_for(place), now)
            made = route(*leading, dtype or self._default(), None, place, None, *tail)
        if out is not None:
            made = _written(self._name, made, out)
        if requires_grad:
            made.requires_grad = requires_grad
        result: Tensor = made
        return result


class LikeFactory:
    """A factory operator that has a tensor to go by, called past the choice of its backend where
    that is the tensor's and nothing else is asked for.
    """

    __slots__ = ("_function", "_known", "_name", "_op")

    def __init__(self, name: str) -> None:
        self._name = name
        self._function: Callable[..., Any] = getattr(aten, name)
        self._op: Operator | None = None  # found at a call: a selective build may lack it
        self._known: dict[int, Callable[..., Any]] = {}  # by signature and state

    def called_by(self, function: Callable[..., object]) -> Any:
        """Return the entry before the public function that calls the factory."""
        return like_entry(f"aten::{self._name}", factory_routes, function)

    def __call__(
        self,
        like: TensorBase,
        *leading: Any,
        requires_grad: bool,
        options: dict[str, object],
        **last: object,
    ) -> Tensor:
        """Return the new tensor: `leading` are the arguments of the schema between the tensor and
        the options, and `last` those after them.
        """
        is_tensor = isinstance(like, TensorBase)
        route = self._known.get(like._signature | state()) if is_tensor else None
        if route is None or options:
            made = self._function(like, *leading, **like_options(options), **last)
        else:
            try:
                made = route(like, *leading, None, None, None, None, *last.values())
            except Exception as error:
                shorten_traceback(error)
                raise
        if is_tensor and route is None:
            self._remember(like)
        return finished(made, requires_grad, None)

    def _remember(self, like: TensorBase) -> None:
        """Keep the route of such calls, if nothing but the tensor's backend has a part in it."""
        if self._op is None:
            self._op = registry.find_or_throw(f"aten::{self._name}", "")
            self._known = factory_routes(self._op)
        now, signature = state(), like._signature
        backend, op = like._backend, self._op
        plain = signature & ~(_PLAIN_TENSOR | backend.bit) == 0
        if plain and backend.is_device and _is_plain(now) and is_selected_here(op):
            factory_route(op, self._known, backend, signature | now)


_PLAIN_TENSOR: Final = DTYPE_MASK | NORMAL | INFERENCE | GRAD | VIEW | ZERO_DIM
"""The bits of the signatures of tensors that nothing but their backend stands behind."""


def _is_plain(now: int) -> bool:
    """Return whether nothing but grad mode and inference mode is in the dispatch state `now`."""
    return not now & ~NO_GRAD or now | NO_GRAD == inference_mode_on(0)


def like_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a factory that has a tensor to go by, as its operator takes them.
    Raises TypeError for an option that there is not.
    """
    if not options:
        return {"dtype": None, "device": None}
    known = {"dtype", "layout", "device", "pin_memory"}
    named = {name: options[name] for name in options.keys() & NUMPY_NAMES["input"]}
    if unknown := sorted(options.keys() - known - named.keys()):
        raise TypeError(
            f"got an unexpected keyword argument '{unknown[0]}'; there are "
            f"{', '.join(sorted(known))}"
        )
    dtype, device = as_dtype(options.get("dtype"), "like"), options.get("device")
    _checked_options("like", dtype, options.get("layout"), device, options.get("pin_memory"), None)
    return {
        "dtype": dtype,
        "device": None if device is None else as_device(device),
        "pin_memory": options.get("pin_memory") or None,
        **named,
    }


def finished(made: Any, requires_grad: bool, out: Tensor | None, function: str = "") -> Tensor:
    """Write a new tensor into `out` if there is one, and have it require grad if that is wanted."""
    if out is not None:
        check_out(function, out)
        made = _written(function, made, out)
    if requires_grad:
        made.requires_grad = requires_grad
    result: Tensor = made
    return result


def number_of(value: Any, function: str, argument: str) -> Any:
    """Return a number given as such, as a NumPy scalar, or as a tensor or array with one element.
    Raises TypeError for anything else.
    """
    if value.__class__ is int or value.__class__ is float:
        return value
    try:
        number = value.item() if hasattr(value, "item") else value
    except ValueError:  # NumPy's, for more than one element
        number = None
    if not isinstance(number, int | float | complex):
        raise TypeError(
            f"{function}(): argument '{argument}' must be Number, not {type(value).__name__}. Give "
            "a number."
        )
    return number


def _checked_options(
    function: str,
    dtype: DType | None,
    layout: Layout | None,
    device: Any,
    pin_memory: bool | None,
    out: Tensor | None,
) -> tuple[DType | None, Any]:
    """Return dtype and device, those of `out` if they are not given; refuse options that have no
    support.
    """
    if layout is not None:
        check_layout(function, layout)
    check_pinning(pin_memory)
    if out is None:
        return dtype, device
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(
            f"dtype {dtype!r} does not match dtype of out parameter ({out.dtype!r}). Leave dtype "
            "out."
        )
    return out.dtype, out.device if device is None else device


def check_out(function: str, out: Tensor) -> None:
    """Refuse to write into a tensor that requires grad. Raises TypeError if it is not a tensor, and
    RuntimeError in grad mode.
    """
    if not isinstance(out, TensorBase):
        raise TypeError(
            f"{function}(): argument 'out' must be Tensor, not {type(out).__name__}. Give a tensor "
            "to write into."
        )
    if not state() & NO_GRAD and out.requires_grad:
        raise RuntimeError(
            f"{function}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad. Use no_grad(), or "
            "out.detach()."
        )


_KEEP_SHAPE: Final = frozenset({"arange", "linspace", "logspace"})
"""Factories that fill an ``out=`` of as many elements as it is, whatever its shape."""


def _written(function: str, made: Any, out: Tensor) -> Tensor:
    shape = tuple(made.array.shape)
    if function in _KEEP_SHAPE and made.numel() == out.numel():
        made = made.reshape(tuple(out.array.shape))
    elif shape != tuple(out.array.shape):
        if function == "arange" and out.numel():
            warn_user(
                f"The number of elements in the out tensor of shape {list(out.shape)} is "
                f"{out.numel()} which does not match the computed number of elements "
                f"{made.numel()}. Note that this may occur as a result of rounding error. The out "
                f"tensor will be resized to a tensor of shape ({made.numel()},)."
            )
        resize_out(out, shape)
    aten.copy_(out, made)
    return out

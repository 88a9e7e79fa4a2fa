"""Finds the operators that a call comes down to: makes it on the meta device, where nothing is
computed, and decides anew where each inner call goes on the device of the tensors. What the call
does on other tensors than its arguments is computed where these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Final

from dovetail_kernel import (
    Backend,
    Device,
    DispatchKey,
    DispatchKeySet,
    TensorBase,
    backend,
    backend_key,
    plugin_manager,
)

from ..table.base_operators import base_operator, has_base_operators
from .decisions import Decision, decide
from .nested_tensors import map_tensors, tensors_in
from .traces.spans import REDISPATCH, CallSpan
from .traces.tracing import record_calls, untraced

META: Final = "meta"


@dataclass(frozen=True, slots=True)
class InnerCall:
    """An operator call that another call makes.

    Attributes
    ----------
    text
        The call in one line, with shapes: ``aten::mm(float32[2, 3], float32[3, 4]) → float32[2,
        4]``.
    decision
        Which kernels it goes through, and why.
    is_redispatch
        Whether a kernel hands its own operator on to other keys.
    calls
        What it calls in turn, in order.
    unknown
        Why that cannot be told; None where it can.
    """

    text: str
    decision: Decision
    is_redispatch: bool
    calls: tuple[InnerCall, ...]
    unknown: str | None

    def walk(self) -> Iterator[InnerCall]:
        """Yield this call and those inside, each before what it calls."""
        yield self
        for call in self.calls:
            yield from call.walk()


@dataclass(frozen=True, slots=True)
class InnerCalls:
    """The outermost operator calls of a function.

    Attributes
    ----------
    calls
        The calls, in order.
    unknown
        Why no more can be told; None if these are all.
    """

    calls: tuple[InnerCall, ...]
    unknown: str | None


def inner_calls(
    function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> InnerCalls:
    """Return the operator calls that ``function(*args, **kwargs)`` makes.

    The function runs on tensors without data instead of its arguments. Its other side effects
    happen, and calls on tensors that are not arguments run for real.
    """
    device, reason = _device_of(function, args, kwargs)
    if device is None:
        return InnerCalls((), reason)
    copies: dict[int, TensorBase] = {}
    substitute = partial(untraced, partial(_substitute, copies))
    given = map_tensors(args, substitute)
    named = map_tensors(kwargs, substitute)
    if not copies:
        named[_DEVICE] = META
    spans, error = record_calls(partial(function, *given, **named))
    calls = tuple([_inner_call(span, device) for span in spans if isinstance(span, CallSpan)])
    return InnerCalls(calls, None if error is None else f"without data it raises {error}")


_DEVICE: Final = "device"


def _device_of(
    function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[Backend | None, str]:
    """Return the device type whose kernels the call would run, or None and why it cannot be run
    without data.
    """
    if not has_base_operators():
        return None, "nothing is installed that computes shapes without data: install dovetail-aten"
    backends = {tensor._backend for tensor in tensors_in([args, kwargs])}
    if len(backends) > 1:
        names = ", ".join(sorted(each.name for each in backends))
        return None, f"the tensors are on several devices: {names}"
    for only in backends:
        return (only, "") if only.is_device else (None, "a function transform holds the tensors")
    if _takes_device(function):
        try:
            name = str(kwargs.get(_DEVICE) or "cpu").partition(":")[0]
            return plugin_manager.attached_backend(name), ""
        except RuntimeError as error:
            return None, f"its backend is not there: {error}"
    return None, "no argument is a tensor, and none chooses a device"


def _takes_device(function: Callable[..., object]) -> bool:
    schema = getattr(function, "_schema", None)
    if schema is not None:
        return any([argument.name == _DEVICE for argument in schema.arguments])
    try:
        return _DEVICE in signature(function).parameters
    except (ValueError, TypeError):
        return False


def _substitute(copies: dict[int, TensorBase], tensor: TensorBase) -> TensorBase:
    """Return the tensor without data that stands for `tensor`: the same one each time."""
    made = copies.get(id(tensor))
    if made is None:
        made = base_operator("empty_strided")(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device=META
        )
        made.requires_grad_(tensor.requires_grad)
        if tensor.grad_fn is not None:  # no leaf: it may be written
            made = base_operator("clone")(made)
        copies[id(tensor)] = made
    return made


def _inner_call(span: CallSpan, device: Backend) -> InnerCall:
    op, key, now, keys = span.decision.call
    decision = decide(
        op,
        _with_backend(key, device),
        now,
        None if keys is None else _keys_with_backend(keys, device),
    )
    inside = [_inner_call(child, device) for child in span.children if isinstance(child, CallSpan)]
    calls, unknown = tuple(inside), None
    if _end(decision) != _end(span.decision):
        calls = ()
        if decision.is_composite:
            unknown = "without data another kernel runs in its place"
    elif span.error is not None and not calls:
        unknown = f"without data it raises {span.error}"
    headline = span.headline().replace(repr(Device(META)), repr(Device(device.name)))
    return InnerCall(headline, decision, span.kind == REDISPATCH, calls, unknown)


def _end(decision: Decision) -> tuple[str, str] | None:
    """Return the last kernel of a call."""
    return (decision.chain[-1].kernel, decision.chain[-1].source) if decision.chain else None


def _with_backend(key: int, device: Backend) -> int:
    """Return the key of a call with another device in place of the meta device."""
    bit = backend(META).bit
    return key & ~bit | device.bit if key & bit else key


def _keys_with_backend(keys: DispatchKeySet, device: Backend) -> DispatchKeySet:
    return DispatchKeySet.of(*[_key_with_backend(key, device) for key in keys])


def _key_with_backend(key: DispatchKey, device: Backend) -> DispatchKey:
    return backend_key(key.functionality, device) if key.backend is backend(META) else key

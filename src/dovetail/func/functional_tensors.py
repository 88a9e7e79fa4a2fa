"""Tensors inside a function run by `functionalize`, with their memory and the views of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import _C, ops
from dovetail_kernel import disabled_torch_function_impl, restoring, show_view

from .replayed_views import View, laid_out


class Memory:
    """The memory of a tensor and its views: the value of the base tensor, and its updates.

    The value keeps its initial strides, so that views are the same as without this module.
    """

    __slots__ = ("changes", "is_captured", "is_shown", "offset", "stride", "value")

    def __init__(self, value: Tensor, is_captured: bool = False) -> None:
        self.value = value
        # Whether it is that of a tensor which the function was not given: no write may reach it.
        self.is_captured = is_captured
        # Whether there are views of it, which a memory that grows would leave behind.
        self.is_shown = False
        self.changes = 0
        self.stride = tuple(value.stride())
        self.offset = value.storage_offset()

    def replace(self, value: Tensor) -> None:
        """Replace the value by another one with the same strides."""
        if value.shape != self.value.shape:  # a result that was resized
            self.stride = tuple(value.stride())
        else:
            value = laid_out(value, self.stride)
        self.value = value
        self.changes += 1


class FunctionalTensor(Tensor):
    """A tensor inside a function run by `functionalize`, with its memory and the views of it."""

    __torch_function__: ClassVar[Any] = disabled_torch_function_impl

    memory: Memory
    views: tuple[View, ...]
    _value: Tensor
    _changes: int

    @staticmethod
    def __new__(
        cls: Any,
        value: Tensor,
        memory: Memory,
        views: tuple[View, ...] = (),
        geometry: Tensor | None = None,
    ) -> Any:
        like = value if geometry is None else geometry
        made = Tensor._make_wrapper_subclass(
            cls,
            tuple(like.shape),
            tuple(like.stride()),
            like.storage_offset(),
            dtype=value.dtype,
            device=value.device,
        )
        made.memory, made.views, made._value, made._changes = memory, views, value, memory.changes
        return made

    def __init__(self, *_args: Any) -> None:
        pass

    @property
    def value(self) -> Tensor:
        """The current value of the tensor."""
        if self._changes != self.memory.changes:
            value = self.memory.value
            for view in self.views:
                value = view.show(value)
            self._value, self._changes = value, self.memory.changes
        return self._value

    def write(self, value: Tensor) -> None:
        """Replace the value of the tensor and of all tensors that share its memory."""
        memory = self.memory
        bases = [memory.value]
        for view in self.views[:-1]:
            bases.append(view.show(bases[-1]))
        whole = value
        for view, base in zip(reversed(self.views), reversed(bases), strict=False):
            whole = view.put(base, whole)
        memory.replace(whole)
        if self.views:
            self._value, self._changes = value, memory.changes

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., object], types: object, args: object = (), kwargs: object = None
    ) -> Any:
        raise RuntimeError(
            f"{func} was called on a tensor from inside a function that functionalize() ran, and "
            "it has ended. Return "
            "the tensor from the function."
        )


def strided(
    base: FunctionalTensor, size: Any, stride: Any, offset: int | None, *, copies: bool
) -> FunctionalTensor:
    """Return a view of the whole memory of `base`, even if `base` is a view.

    Raises
    ------
    RuntimeError
        If the memory does not belong to a known dense tensor with offset 0.
    """
    memory = base.memory
    if memory.offset or laid_out(memory.value, memory.stride) is not memory.value:
        raise RuntimeError(
            "functionalize: as_strided of a tensor whose memory does not begin with it, or has "
            "gaps, cannot be followed. Take it of a contiguous clone."
        )
    start = base.storage_offset() if offset is None else offset
    func = ops.aten.as_strided.default
    view = View(func, (size, stride, start), {}, None, stride if copies else None)
    geometry = _seen_as_strided(base, size, stride, start)
    return FunctionalTensor(view.show(memory.value), memory, (view,), geometry)


@restoring()
def _seen_as_strided(base: FunctionalTensor, size: Any, stride: Any, offset: int) -> Any:
    with _C._DisableTorchDispatch():
        count = base.memory.value.numel()
        return aten.empty(count, dtype=base.dtype, device="meta").as_strided(size, stride, offset)


def resize(
    target: FunctionalTensor, size: Sequence[int], memory_format: Any, *, copies: bool
) -> FunctionalTensor:
    """Change the size of `target` over its memory, which grows if necessary, as by ``resize_``.

    Raises
    ------
    RuntimeError
        If the memory has to grow and other tensors share it.
    """
    sizes = list(size)
    if sizes == list(target.shape) and memory_format is None:
        return target
    strides = _strides(sizes, memory_format)
    start = target.storage_offset()
    count = 0 if 0 in sizes else 1 + start
    count += sum([(n - 1) * step for n, step in zip(sizes, strides, strict=True)]) if count else 0
    missing = count - target.memory.value.numel()
    if missing <= 0:
        show_view(target, "resize_", lambda: strided(target, sizes, strides, start, copies=copies))
        return target
    memory = target.memory
    if target.views or memory.is_shown or memory.offset or not memory.value.is_contiguous():
        raise RuntimeError(
            "functionalize: resize_ to more elements than there are cannot be followed where other "
            "tensors show the memory, or it is not contiguous. Make a new tensor of that size."
        )
    flat = memory.value.reshape(-1)
    longer = aten.cat([flat, flat.new_empty(missing)])
    memory.replace(longer.as_strided(sizes, strides, 0))
    show_view(target, "resize_", lambda: FunctionalTensor(memory.value, memory))
    return target


@restoring()
def _strides(sizes: list[int], memory_format: Any) -> list[int]:
    given = {} if memory_format is None else {"memory_format": memory_format}
    with _C._DisableTorchDispatch():
        return list(aten.empty(sizes, device="meta", **given).stride())


def show_source(
    target: FunctionalTensor, source: Any, place: Sequence[Any], *, copies: bool
) -> FunctionalTensor:
    """Make `target` a view of `source`, or of a `place` in its memory, as by ``set_``.

    Parameters
    ----------
    target
        A tensor that the function made.
    source
        A tensor.
    place
        Offset from the first element of `source`, size, and strides, if they are given; empty for
        all of `source`.

    Raises
    ------
    RuntimeError
        For anything but a tensor.
    """
    if not isinstance(source, Tensor):
        raise RuntimeError(
            "functionalize: set_ to a storage cannot be followed. Give the tensor that shows it."
        )
    if not isinstance(source, FunctionalTensor):
        source = FunctionalTensor(source, Memory(source, is_captured=True))
    source.memory.is_shown = True
    shown = source
    if place:
        offset, size, *rest = place
        strides = rest[0] if rest and rest[0] else _strides(list(size), None)
        start = source.storage_offset() + offset
        shown = strided(source, list(size), list(strides), start, copies=copies)
    alias = FunctionalTensor(shown.value, shown.memory, shown.views, shown)
    show_view(target, "set_", lambda: alias)
    return target

"""The part of Tensor for its subclasses: making them, and what functions do with them."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from dovetail_kernel import TensorBase, disabled_torch_function_impl, set_state, state, tensor_class
from dovetail_kernel.keys import NOT_PLAIN, functions_as_they_are
from dovetail_kernel.signature import NO_GRAD, OVERRIDES

from .._generated import functions as aten
from ..calling.compiled_entries import entry_by
from .exchange_methods import TensorExchange
from .new_subclasses import check_subclass, make_subclass, make_wrapper_subclass, taken_slots


@cache
def default_nowrap_functions() -> frozenset[Any]:
    """Return the functions whose results the default ``__torch_function__`` leaves as they are."""
    plain: Any = TensorBase
    return frozenset({plain._base.__get__, plain.grad.__get__})


def _as_instances(result: object, cls: type[Any]) -> Any:
    """Return the tensors in `result`, which may be a list or tuple of them, as instances of
    `cls`.
    """
    if cls is tensor_class():
        return result
    if isinstance(result, TensorSubclasses):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, list | tuple):
        items = [_as_instances(item, cls) for item in result]
        kind: Any = type(result)
        return kind._make(items) if hasattr(kind, "_make") else kind(items)
    return result


class TensorSubclasses(TensorExchange):
    """The part of Tensor that is for its subclasses."""

    __slots__ = ()
    _is_plain: ClassVar[bool] = True
    _taken_slots: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._taken_slots = taken_slots(cls)

    @classmethod
    @entry_by("plain handler", default_nowrap_functions, _as_instances, aten.alias)
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` on the arguments as plain tensors, and return its results as instances of
        `cls`.

        What a subclass does that does not override it, and what an override calls by ``super()``.

        Returns
        -------
        object
            NotImplemented if some class in `types` is not a base of `cls`.
        """
        for each in types:
            if not issubclass(cls, each):
                return NotImplemented
        result = disabled_torch_function_impl(func, types, args, kwargs)
        return result if func in default_nowrap_functions() else _as_instances(result, cls)

    _make_subclass = staticmethod(entry_by("leaf of subclass", aten.detach)(make_subclass))
    _make_wrapper_subclass = staticmethod(make_wrapper_subclass)

    @entry_by("as subclass", aten.alias)
    def as_subclass(self, cls: type[Any]) -> Any:
        """Return the tensor as an instance of `cls`, sharing data and graph."""
        check_subclass(cls)
        tensor: Any = self
        before = state()
        if self._signature & OVERRIDES or before & ~NO_GRAD:
            try:
                set_state(functions_as_they_are(before))
                made: Any = aten.alias(tensor)
            finally:
                set_state(before)
        else:
            made = aten.alias(tensor)
        if made.__class__ is not cls:
            base: Any = object.__new__(cls)
            # The SLOTS, written out.
            base.array = made.array
            base._signature = made._signature & ~NOT_PLAIN | cls._class_bits
            base._grad_fn = made._grad_fn
            base.output_nr = made.output_nr
            base._storage = made._storage
            base._counter = made._counter
            base._meta = made._meta
            made = base
        return made

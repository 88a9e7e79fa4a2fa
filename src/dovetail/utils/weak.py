"""Mappings and references that do not keep tensors alive, as in ``torch.utils.weak``. Keys are
compared by identity, because ``==`` of tensors compares elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Generic, TypeVar
from weakref import ref

from dovetail_aten import Tensor

__all__ = [
    "TensorWeakRef",
    "WeakIdKeyDictionary",
    "WeakIdRef",
    "WeakTensorKeyDictionary",
    "WeakTensorRefKey",
]

Value = TypeVar("Value")


class WeakIdRef(ref):  # type: ignore[type-arg]
    """A weak reference that is compared and hashed by the identity of its object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[..., None] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        theirs = other() if isinstance(other, WeakIdRef) else None
        return mine is theirs if mine is not None and theirs is not None else self is other


WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor; calling it returns the tensor, or None if it no longer exists.

    Raises
    ------
    AssertionError
        If `tensor` is not a tensor.
    """

    __slots__ = ("ref",)

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected a Tensor, got {type(tensor).__name__}")
        self.ref: ref[Tensor] = ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()


class WeakIdKeyDictionary(MutableMapping[Any, Value], Generic[Value]):
    """A mapping whose entries are removed together with their keys; keys may be any objects that
    support weak references.

    Parameters
    ----------
    dict
        The first entries.
    """

    def __init__(
        self, dict: Mapping[object, Value] | None = None, ref_type: Any = WeakIdRef
    ) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        data = self.data
        # Not a method: the mapping is not to be kept alive by its keys.
        self._remove: Callable[[Any], None] = lambda key: data.pop(key, None)
        self.update(dict or {})

    def __getitem__(self, key: Any) -> Value:
        found: Value = self.data[self.ref_type(key)]
        return found

    def __setitem__(self, key: Any, value: Value) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # it takes no weak references
            return False

    def __iter__(self) -> Iterator[Any]:
        for each in list(self.data):
            key = each()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> WeakIdKeyDictionary[Value]:
        """Return a copy with the same entries."""
        return type(self)(self)

    __copy__ = copy

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary

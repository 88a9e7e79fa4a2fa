"""Results with names: ``x.max(1).values``. Tuples, as PyTorch's ``torch.return_types`` are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Self, TypeVar

from dovetail_kernel import TensorBase

__all__ = ["max", "max_out", "min", "min_out", "sort", "sort_out", "topk", "topk_out"]


_Tensor = TypeVar("_Tensor", bound=TensorBase)
"""The class of tensors, which lies above this room."""


class ValuesAndIndices(tuple[_Tensor, _Tensor]):
    """Elements along a dimension, and where they are.

    Attributes
    ----------
    values
        The elements.
    indices
        Their places along the dimension, of int64.
    """

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ("values", "indices")

    @property
    def values(self) -> _Tensor:
        """The elements."""
        return self[0]

    @property
    def indices(self) -> _Tensor:
        """Their places along the dimension."""
        return self[1]

    @classmethod
    def _make(cls, items: Iterable[Any]) -> Self:
        """Return a result of these items, as the classes of `collections.namedtuple` do."""
        return tuple.__new__(cls, items)

    def __repr__(self) -> str:
        items = ",\n".join(
            [f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True)]
        )
        return f"dovetail.return_types.{type(self).__name__}(\n{items})"


def _result_type(name: str) -> type[ValuesAndIndices[Any]]:
    return type(name, (ValuesAndIndices,), {"__slots__": (), "__module__": "dovetail.return_types"})


max: Final = _result_type("max")
max_out: Final = _result_type("max_out")
min: Final = _result_type("min")
min_out: Final = _result_type("min_out")
sort: Final = _result_type("sort")
sort_out: Final = _result_type("sort_out")
topk: Final = _result_type("topk")
topk_out: Final = _result_type("topk_out")


def named(kind: type[ValuesAndIndices[Any]]) -> Callable[[Any], Any]:
    """Return the function that makes a `kind` of a tuple; what overriding code returned stays as it
    is.
    """
    new = tuple.__new__

    def of(result: Any) -> Any:
        return new(kind, result) if result.__class__ is tuple else result

    return of

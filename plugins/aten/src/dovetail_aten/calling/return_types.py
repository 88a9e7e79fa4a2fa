"""Results with names: ``x.max(1).values``. Tuples, as PyTorch's ``torch.return_types`` are.

The classes are made when a function that returns one is first called, or when one is asked for by
name: which there are follows from the schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, ClassVar, Self

from dovetail_dispatcher import Operator
from dovetail_dispatcher.table import registry
from dovetail_kernel import TensorBase

from ..templates.python_function import result_type

_classes: dict[str, type[NamedResult]] = {}


class NamedResult(tuple[TensorBase, ...]):
    """Results of one call, each an attribute under its name."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _make(cls, items: Iterable[Any]) -> Self:
        """Return a result of these items, as the classes of `collections.namedtuple` do."""
        return tuple.__new__(cls, items)

    def __repr__(self) -> str:
        items = ",\n".join(
            [f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True)]
        )
        return f"dovetail.return_types.{type(self).__name__}(\n{items})"


def _class(name: str, fields: Sequence[str]) -> type[NamedResult]:
    """Return the class of results `name`, the same at every call."""
    known = _classes.get(name)
    if known is None:
        content: dict[str, Any] = {
            field: property(itemgetter(position), doc=f"Result {position}.")
            for position, field in enumerate(fields)
        }
        content |= {
            "__slots__": (),
            "__module__": "dovetail.return_types",
            "__doc__": f"What `{name.removesuffix('_out')}` returns: {', '.join(fields)}.",
            "_fields": tuple(fields),
        }
        known = _classes.setdefault(name, type(name, (NamedResult,), content))
    return known


def named(name: str, fields: Sequence[str]) -> Callable[[Any], Any]:
    """Return the function that makes a result `name` of a tuple; what overriding code returned
    stays as it is.
    """
    kind, new = None, tuple.__new__

    def of(result: Any) -> Any:
        nonlocal kind
        if kind is None:
            kind = _class(name, fields)
        return new(kind, result) if result.__class__ is tuple else result

    return of


def names_results(op: Operator) -> Callable[[Any], Any]:
    """Return the function that gives the results of `op` their names."""
    return named(result_type(op.schema), [item.name or "" for item in op.schema.returns])


def names() -> list[str]:
    """Return the names of all classes of results."""
    return sorted(_fields_of())


def _fields_of() -> dict[str, list[str]]:
    """Return the names of the results of every class."""
    return {
        kind: [item.name or "" for item in op.schema.returns]
        for op in registry.all_operators()
        if op.namespace == "aten" and (kind := result_type(op.schema))
    }


def __getattr__(name: str) -> type[NamedResult]:
    known = _classes.get(name)
    if known is not None:
        return known
    if not name.startswith("__") and (fields := _fields_of().get(name)) is not None:
        return _class(name, fields)
    raise AttributeError(f"module 'dovetail.return_types' has no attribute {name!r}")

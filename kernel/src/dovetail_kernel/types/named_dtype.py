"""`NamedDtype`: a dtype of PyTorch's that has a name here and no tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NoReturn, TypeVar

from .dtype import dtype, float16

Native = TypeVar("Native")


class NamedDtype(dtype):
    """An element type that no tensor has. It is a `dtype` to ``isinstance``, and has no bit in a
    signature.

    Attributes
    ----------
    remedy
        What to use instead.
    """

    __slots__ = ("remedy",)

    remedy: str

    def __reduce__(self) -> tuple[Any, ...]:
        return named_dtype, (self.name,)

    def to_real(self) -> dtype:
        """Return the dtype of the real part: `float16` of complex halves."""
        return float16 if self.is_complex else self

    def to_complex(self) -> dtype:
        """Return complex halves as they are.

        Raises
        ------
        NotImplementedError
            For the others.
        """
        if self.is_complex:
            return self
        raise self.refusal()

    def refusal(self) -> NotImplementedError:
        """Return what to raise where a tensor would have this dtype."""
        return NotImplementedError(
            f"\"{self!r}\" is a name alone: no tensor has the dtype '{self.scalar_name}'. "
            f"{self.remedy}"
        )


def named_dtype(name: str) -> NamedDtype:
    """Return the dtype `name` that no tensor has.

    Raises
    ------
    KeyError
        If there is none of that name.
    """
    from .names_of_dtypes import NAMES  # many, and rarely asked for

    return NAMES[name]


class AskedDtypes(dict[dtype, Native], Generic[Native]):
    """Native dtypes for dtypes that callers give; a `NamedDtype` is refused, and another that is
    missing as `known` refuses it.
    """

    def __init__(self, known: Mapping[dtype, Native]) -> None:
        super().__init__(known)
        self._known = known

    def __missing__(self, wanted: Any) -> NoReturn:
        if isinstance(wanted, NamedDtype):
            raise wanted.refusal()
        self._known[wanted]
        raise KeyError(wanted)

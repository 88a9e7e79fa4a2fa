"""Protocols of what kernels, formulas and batching rules compute with; for annotations alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dovetail_kernel.typing import ShapedArray

Scalar: TypeAlias = bool | int | float | complex
"""A number of Python."""

Dims: TypeAlias = Sequence[int | None]
"""Mapped dimension of each argument of a batching rule; None for arguments that are not mapped."""


class Shaped(Protocol):
    """A tensor or an array, also one without elements, as checks look at it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""

    @property
    def dtype(self) -> Any:
        """Dtype of the elements: Dovetail's, or the array library's."""


class TensorLike(Shaped, Protocol):
    """A tensor, or an array of some backend: what a formula computes with in both forms.

    Operators return `Any`: a tensor or an array whose class and dtype the operands decide.
    """

    @property
    def real(self) -> Any:
        """Real parts; the same elements if the dtype is real."""

    @property
    def imag(self) -> Any:
        """Imaginary parts."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __neg__(self) -> Any: ...
    def __invert__(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __rpow__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...


if TYPE_CHECKING:
    from .tensor import tensor_class

    Tensor = tensor_class.Tensor
else:
    Tensor = TensorLike  # the class stands above the rooms whose annotations name it


class Array(TensorLike, ShapedArray, Protocol):
    """An array of some backend, such as NumPy's, CuPy's or Dask's, as kernels compute with it."""

    @property
    def T(self) -> Any:
        """View with the dimensions in reverse order."""

    @property
    def reshape(self) -> Callable[..., Any]:
        """Method that returns the elements in another shape."""

    @property
    def transpose(self) -> Callable[..., Any]:
        """Method that returns a view with the dimensions in another order."""

    @property
    def swapaxes(self) -> Callable[..., Any]:
        """Method that returns a view with two dimensions exchanged."""

    @property
    def copy(self) -> Callable[..., Any]:
        """Method that returns the elements in memory of their own."""

    @property
    def sum(self) -> Callable[..., Any]:
        """Method that returns the sums along dimensions."""

    def __len__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...


class Batch(Protocol):
    """The vmap that a batching rule works for."""

    @property
    def batch_size(self) -> int:
        """Number of entries."""

    @property
    def randomness(self) -> str:
        """``'error'``, ``'different'`` or ``'same'``: the behaviour of random operators."""


class Namespace(Protocol):
    """Functions by name, from a module or an object: NumPy's for the arrays of a backend, or the
    operators that a formula calls.
    """

    def __getattr__(self, name: str, /) -> Any:
        """Return the function, dtype or constant of that name."""

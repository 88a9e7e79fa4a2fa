"""Families of array kernels: classes that hold an array namespace, whose methods are the kernels.

A method is marked with the operators that it is the kernel of, and can be called alone::

    Reductions(numpy, capabilities).logsumexp(x, 0)

A backend with a faster form of some kernels derives a class and overrides the methods; the marks
are inherited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import MethodType
from typing import Any, ClassVar, TypeVar

from dovetail_kernel import get_default_dtype
from dovetail_kernel.types import FLOAT

from ..typing import Array, Namespace
from .capabilities import Capabilities
from .geometry.broadcasting import raise_misfit
from .namespace_names import with_names
from .operands import Numbers, Precision
from .result_formats import laid_in_order
from .table import Function, KernelTable

_Method = TypeVar("_Method", bound=Function)

_operators: dict[Function, tuple[str, ...]] = {}
_helpers: dict[Function, tuple[str, ...]] = {}


def operator(*names: str, overloads: tuple[str, ...] = ()) -> Callable[[_Method], _Method]:
    """Mark a method of a `Family` as the array kernel of the operators `names`, which share it, and
    of these `overloads` of each.
    """
    marked = (*names, *[f"{name}.{overload}" for name in names for overload in overloads])

    def mark(method: _Method) -> _Method:
        _operators[method] = marked
        return method

    return mark


def helper(*names: str) -> Callable[[_Method], _Method]:
    """Mark a method of a `Family` as a helper that derivative bodies call by these names:
    ``k.name``.
    """

    def mark(method: _Method) -> _Method:
        _helpers[method] = names
        return method

    return mark


def rounds_once(method: _Method) -> _Method:
    """Mark a kernel that accepts half precision and rounds its result once: routes do not convert
    its arguments to float32, as they do for ``half: single``.
    """
    setattr(method, "rounds_once", True)  # noqa: B010  (a function's type knows no attributes)
    return method


def never_warns(method: _Method) -> _Method:
    """Mark a kernel that computes nothing that an array library warns of: routes call it without a
    quiet error state.
    """
    setattr(method, "never_warns", True)  # noqa: B010  (a function's type knows no attributes)
    return method


def lays_out(method: _Method) -> _Method:
    """Mark a kernel that lays out its results itself: nothing else looks at where they lie."""
    setattr(method, "lays_out", True)  # noqa: B010  (a function's type knows no attributes)
    return method


def fitted(method: _Method) -> _Method:
    """Raise RuntimeError, like PyTorch, if the array library raises an error for the shapes passed
    to a method of a `Family`.
    """

    @wraps(method)
    def compute(self: Family, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except (TypeError, ValueError) as error:
            raise_misfit(error, *args)

    return compute  # type: ignore[return-value]


def widened(method: _Method) -> _Method:
    """Decorate a method of a `Family` to compute half-precision arguments in float32, and to return
    half precision. For incompatible shapes it raises RuntimeError, as in PyTorch.
    """

    @wraps(method)
    def compute(self: Family, x: Array, *args: Any, **kwargs: Any) -> Any:
        try:
            if x.dtype not in self.precision.halves:
                return method(self, x, *args, **kwargs)
            return _in_single(self, method, x, args, kwargs)
        except (TypeError, ValueError) as error:
            raise_misfit(error, x, *args)

    return compute  # type: ignore[return-value]


def _in_single(
    family: Family, method: Function, x: Array, args: tuple[object, ...], kwargs: dict[str, object]
) -> Any:
    """Return what a method returns for arguments in float32, in half precision again."""
    precision, own = family.precision, x.dtype
    wide = precision.wide
    named = {name: wide(value) for name, value in kwargs.items()}
    result = method(family, wide(x), *map(wide, args), **named)
    if isinstance(result, tuple):
        return tuple([precision.narrow(each, own) for each in result])
    return precision.narrow(result, own)


class Family:
    """Array kernels over one array namespace.

    Parameters
    ----------
    xp
        A namespace with NumPy's names, such as `numpy` or `cupy`.
    capabilities
        The functions of the backend that `xp` does not provide.
    table
        The table of kernels, which also contains the kernels of other families.

    Attributes
    ----------
    functions
        Operators that are a function of the namespace, with the name of the function.
    functions_with_out
        The same for functions whose results have the dtype of their operands, and can be written
        into an operand (``out=``).
    functions_of_numbers
        Operators of an array and a number, in either order, that are a function of the namespace.
    scipy_functions
        Operators that are a function of SciPy, with the dotted name of the function.
    xp
        The namespace, as a module with the available functions of `NAMES`.
    capabilities, table
        The parameters.
    dtypes, native_dtypes
        Those of `capabilities`.
    numbers
        Conversion of Python numbers to operands.
    precision
        The dtypes that kernels compute in.
    lazy
        Whether values are computed later. Kernels then do not read values; `checked` raises errors
        for invalid values.
    """

    functions: ClassVar[Mapping[str, str]] = {}
    functions_with_out: ClassVar[Mapping[str, str]] = {}
    functions_of_numbers: ClassVar[Mapping[str, str]] = {}
    scipy_functions: ClassVar[Mapping[str, str]] = {}
    _methods: ClassVar[dict[str, tuple[str, ...]]] = {}
    _helpers: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init_subclass__(cls) -> None:
        own = {name: method for name, method in vars(cls).items() if callable(method)}
        families = [base for base in reversed(cls.__bases__) if issubclass(base, Family)]
        methods = [base._methods for base in families]
        methods.append({n: _operators[each] for n, each in own.items() if each in _operators})
        cls._methods = {name: marks for each in methods for name, marks in each.items()}
        helpers = [base._helpers for base in families]
        helpers.append({n: _helpers[each] for n, each in own.items() if each in _helpers})
        cls._helpers = {name: marks for each in helpers for name, marks in each.items()}

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        self.xp = with_names(xp)
        self.capabilities = capabilities
        self.table = KernelTable() if table is None else table
        self.dtypes = capabilities.dtypes
        self.native_dtypes = capabilities.native_dtypes
        self.numbers = Numbers(capabilities)
        self.precision = Precision(capabilities)
        self.lazy = capabilities.lazy
        self._found_in_scipy: dict[str, Function] = {}

    def checked(self, array: Any, right: Any, error: Callable[..., Exception]) -> Any:
        """Return `array` after a check of its elements. Use the returned array for further
        computations: lazy values are checked when it is computed.

        Parameters
        ----------
        right
            An array of booleans that broadcasts with `array`: whether elements are valid.
        error
            Returns the error for the first invalid element: a function that can be pickled.
        """
        if self.lazy:
            return self.capabilities.checked(array, right, error)
        xp = self.xp
        if not bool(xp.all(right)):
            array, right = xp.broadcast_arrays(array, right)
            wrong = xp.reshape(array[xp.logical_not(right)], (-1,))
            raise error(wrong[0] if wrong.size else None)  # None: of a row without elements
        return array

    def checked_places(
        self, index: Array, least: int, size: int, error: Callable[..., Exception]
    ) -> Any:
        """Return `index` after a check that its integers are at least `least` and less than `size`,
        like `checked`.
        """
        below = self.capabilities.are_below
        if not self.lazy and (not index.size or (not least and below(index, size))):
            return index
        return self.checked(index, self.xp.logical_and(index >= least, index < size), error)

    @classmethod
    def define(cls, xp: Namespace, kernel: KernelTable, capabilities: Capabilities) -> None:
        """Define the kernels of this family for a namespace in a table."""
        cls(xp, capabilities, kernel).define_in(kernel)

    @classmethod
    def methods(cls) -> Mapping[str, tuple[str, ...]]:
        """Return the names of the methods that are kernels, with their operators."""
        return cls._methods

    @classmethod
    def helper_methods(cls) -> Mapping[str, tuple[str, ...]]:
        """Return the names of the methods that derivative bodies call, with the names that the
        bodies use.
        """
        return cls._helpers

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels of this family in a table.

        A family whose kernels have faster forms (``fast_path``, ``out_function``) extends this.
        """
        for name, function in self.functions.items():
            kernel(name, getattr(self.xp, function))
        for name, function in self.functions_with_out.items():
            kernel(name, getattr(self.xp, function), out_function=getattr(self.xp, function))
        for name, function in self.functions_of_numbers.items():
            kernel(name, self._of_a_number(name, getattr(self.xp, function)))
        for name, function in self.scipy_functions.items():
            kernel(name, self._function_of_scipy(function, name))
        for method, names in self._methods.items():
            for name in names:
                kernel(name, getattr(self, method))
        for method, names in self._helpers.items():
            for name in names:
                kernel.helpers[name] = getattr(self, method)

    def _of_a_number(self, name: str, function: Function) -> Function:
        """Return the kernel of an operator of an array and a number: in the array's dtype, if it
        can hold the number.
        """
        operands = self.numbers.either if name.endswith(".Scalar_Tensor") else self.numbers.pair
        return lambda x, other: function(*operands(x, other))

    def scipy(self, function: str, operator: str) -> Function:
        """Return a function of SciPy for the arrays of this backend, imported at its first use.

        Parameters
        ----------
        function
            Its dotted name in SciPy: ``"special.gammaln"``.
        operator
            The operator that needs it.

        Raises
        ------
        NotImplementedError
            If the backend has no such function.
        """
        found = self._found_in_scipy.get(function)
        if found is None:
            found = self.capabilities.scipy(function)
            if found is None:
                raise NotImplementedError(
                    f"{operator} needs scipy.{function}, which the backend does not supply. Name a "
                    "package that has it as `scipy_package` of the backend's arrays, or register a "
                    "kernel of your own for the operator."
                )
            self._found_in_scipy[function] = found
        return found

    def _function_of_scipy(self, function: str, operator: str) -> Function:
        """Return the kernel of an operator that is a function of SciPy and nothing else."""

        @widened
        def compute(self: Family, x: Array, *args: Any) -> Any:
            return self.scipy(function, operator)(x, *args)

        return MethodType(compute, self)

    def default_float(self) -> Any:
        """Return the native dtype of new floating-point arrays."""
        return self.native_dtypes[get_default_dtype()]

    def ordered(self, result: Any) -> Any:
        """Return the result of a kernel in C order, independent of the order of its operand.

        PyTorch does this for reductions, scans and normalizations. Array namespaces use the order
        of the operand, which would prevent `view` where PyTorch allows it.
        """
        return self.capabilities.contiguous(result) if result.ndim > 1 else result

    def in_order(self, result: Any, *operands: Array | None) -> Any:
        """Return the result of a kernel in the order in memory of its operands, the first of which
        decides, as in PyTorch; None is none.
        """
        given = [each for each in operands if each is not None]
        return laid_in_order(result, given, self.xp, self.capabilities)

    def check_float(self, name: str, array: Array) -> None:
        """Raise an error for arrays of integers and bools.

        Raises
        ------
        NotImplementedError
            With PyTorch's message, which names the kernel `name`.
        """
        dtype = self.dtypes[array.dtype]
        if dtype.category < FLOAT:
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{dtype.scalar_name}'. Convert to a "
                "floating-point dtype first."
            )

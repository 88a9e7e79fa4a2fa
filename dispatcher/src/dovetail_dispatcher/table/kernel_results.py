"""What a kernel may return, by the schema's returns; and the errors that name the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import TensorBase

from ..schema import CastError, caster
from ..schema.casts import cast_bool, cast_float, cast_int
from ..schema.types import BoolType, IntType, ListType, OptionalType, SymBoolType, SymIntType, Type
from .kernels import Kernel
from .operator import Operator

_LONGEST: Final = 60
"""As many characters of a wrong result are shown in an error."""

Cast = Callable[[Any], Any]


class KernelResults:
    """Checks what one kernel returns against the returns of its operator's schema.

    Parameters
    ----------
    op
        The operator.
    kernel
        The kernel, or a description of it, for error messages.
    """

    def __init__(self, op: Operator, kernel: Kernel | str) -> None:
        self._op = op
        self._kernel = kernel

    @property
    def who(self) -> str:
        """Description of the kernel for messages: function, ``file:line``, distribution and key."""
        if isinstance(self._kernel, str):
            return self._kernel
        return f"the kernel {described(self._kernel)}"

    def tensor(self, value: object) -> Any:
        """Return the only result, which must be a Tensor; None means an undefined tensor, as in
        PyTorch.

        Raises
        ------
        RuntimeError
            If it is not a tensor.
        """
        if isinstance(value, TensorBase) or value is None:
            return value
        raise self.cast_error(value, "Tensor")

    def by_schema(self, value: object) -> Any:
        """Return the result in the form of the schema's returns: None, one value, or a tuple.

        Raises
        ------
        RuntimeError
            If the schema has no returns but the kernel returns a value, or a value has the wrong
            type, or their number is wrong.
        TypeError
            If the kernel returns one value and the schema has several.
        """
        returns = self._op.schema.returns
        if not returns:
            return self.nothing(value)
        if len(returns) == 1:
            return self.cast(value, returns[0].real_type)
        items = self.several(value)
        return tuple([self.cast(item, r.real_type) for item, r in zip(items, returns, strict=True)])

    def nothing(self, value: object) -> None:
        """Raise an error if a kernel without returns returns a value."""
        if value is not None:
            raise RuntimeError(
                f"Expected PythonKernelHolder for {self._op.qualified_name} to return None but it "
                f"returned something else instead: {self.who} returned {shown(value)}, a "
                f"{type(value).__name__}. Its schema ends in '-> ()': return nothing, or declare a "
                "return."
            )

    def several(self, value: object) -> Sequence[Any]:
        """Return the results, whose number must be that of the schema's returns."""
        schema = self._op.schema
        if not isinstance(value, tuple | list):
            raise TypeError(
                f"Object of type '{type(value).__name__}' is not an instance of 'sequence': "
                f"{self.who} must return {len(schema.returns)} values. Schema: {schema}. Return a "
                f"tuple of {len(schema.returns)}."
            )
        if len(value) != len(schema.returns):
            raise RuntimeError(
                f"{self.who} returned {len(value)} values, but its schema has "
                f"{len(schema.returns)} returns: {schema}. Return a tuple of "
                f"{len(schema.returns)}."
            )
        return value

    def check_meta(self, result: object) -> None:
        """Raise an error if a fake kernel returns a tensor with data.

        Raises
        ------
        RuntimeError
            If a tensor has data; the message names its device.
        """
        for value in result if isinstance(result, list | tuple) else (result,):
            if isinstance(value, list | tuple):
                self.check_meta(value)
            elif isinstance(value, TensorBase) and not value.is_meta:
                raise RuntimeError(
                    f"{self.who} is a fake, and returned a tensor on device {value.device}: "
                    f"{shown(value)}. A fake gives tensors on the meta device, as its arguments "
                    "are: make them with x.new_empty(...) or dovetail.empty_like(x)."
                )

    def cast(self, value: object, declared: Type) -> Any:
        """Return one result as the schema declares it."""
        wanted = declared.schema_str
        if wanted == "Tensor" and (value is None or isinstance(value, TensorBase)):
            return value
        try:
            return result_caster(declared)(value)
        except CastError:
            raise self.cast_error(value, wanted) from None

    def cast_error(self, value: object, wanted: str) -> RuntimeError:
        """Return the error of a result that is not of the type `wanted`."""
        return RuntimeError(
            f"Unable to cast {shown(value)} to {wanted}: {self.who} returned a "
            f"{type(value).__name__}, but its schema is {self._op.schema}. Return a {wanted}."
        )


def described(kernel: Kernel) -> str:
    """Return a kernel for messages: function, ``file:line``, distribution and key."""
    distribution = kernel.distribution
    from_it = f" of {distribution}" if distribution else ""
    return f"{kernel.name} at {kernel.source}{from_it}, registered at {kernel.key.name},"


def result_caster(declared: Type) -> Cast:
    """Return the cast of a result to a schema type: that of an argument, without what hides a
    mistake.

    A sequence is a list or a tuple (a tensor or an array would be split along its first
    dimension), a forgotten ``return`` is no False, and an int has no fraction.
    """
    cast = caster(declared)
    if isinstance(declared, OptionalType):
        return _optional(result_caster(declared.elem))
    if isinstance(declared, ListType):
        return _list(cast, result_caster(declared.elem))
    if isinstance(declared, BoolType | SymBoolType):
        return _bool
    if isinstance(declared, IntType | SymIntType):
        return _int
    return cast


def _optional(cast: Cast) -> Cast:
    return lambda value: None if value is None else cast(value)


def _list(cast: Cast, cast_element: Cast) -> Cast:
    def checked(value: object) -> Any:
        if not isinstance(value, list | tuple):
            raise CastError("neither a list nor a tuple")
        return cast([cast_element(element) for element in value])

    return checked


def _bool(value: object) -> Any:
    if value is None:
        raise CastError("None")
    return cast_bool(value)


def _int(value: object) -> int:
    number = cast_int(value)
    if not isinstance(value, int) and not cast_float(value).is_integer():
        raise CastError("a number with a fraction")
    return number


def shown(value: object) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None:
        dtype = getattr(value, "dtype", None)
        return f"<{type(value).__name__} of shape {tuple(shape)} and dtype {dtype}>"
    try:
        text = repr(value)
    except Exception:  # of a class that cannot be printed
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

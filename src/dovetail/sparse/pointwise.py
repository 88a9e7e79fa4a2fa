"""Functions of single elements that are zero at zero: they run on the values of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import is_grad_enabled
from dovetail_kernel import bump_version, can_cast, sparse_coo

from .arithmetic import transpose, zeros_like
from .conversions import converted, summed
from .coordinate_tensor import CoordinateTensor, handles, refusal

_tensor: Any = Tensor

_NAMES: Final = (
    *("abs", "absolute", "asin", "arcsin", "asinh", "arcsinh", "atan", "arctan", "atanh"),
    *("arctanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "fix", "floor", "frac", "isinf"),
    *("isnan", "isneginf", "isposinf", "log1p", "nan_to_num", "rad2deg", "relu", "round", "sgn"),
    *("sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)
_LINEAR: Final = (
    *("neg", "negative", "positive", "conj", "conj_physical", "_conj_physical", "real"),
    *("resolve_conj", "resolve_neg"),
)
"""Functions of a sum that are the sum of theirs: values at the same index are not added up."""


def _note(name: str, is_linear: bool) -> None:
    function: Any = getattr(aten, name, None) or getattr(_tensor, name)

    def pointwise(
        input: CoordinateTensor, *args: object, out: object = None, **kwargs: object
    ) -> Any:
        kept = input if is_linear else summed(input)
        made = converted(kept, function(kept._elements, *args, **kwargs))
        return made if out is None else _written(out, made)

    def in_place(self: CoordinateTensor, *args: object, **kwargs: object) -> Any:
        if not is_linear and self._form is sparse_coo and not self._unique:
            raise RuntimeError(f"{name}_ requires coalesced input. Call coalesce() first.")
        values = self._elements.clone() if is_grad_enabled() else self._elements.detach().clone()
        return _written(self, converted(self, getattr(values, f"{name}_")(*args, **kwargs)))

    known = [getattr(aten, name, None), getattr(_tensor, name, None)]
    plain = [each.__get__ if isinstance(each, property) else each for each in known]
    handles(*[each for each in plain if each is not None], compressed=True)(pointwise)
    if (written := getattr(_tensor, f"{name}_", None)) is not None:
        handles(written, compressed=True)(in_place)


def _written(target: object, made: CoordinateTensor) -> Any:
    """Let a sparse tensor hold the indices and values of another one, in its own dtype."""
    if not isinstance(target, CoordinateTensor) or target._form is not made._form:
        raise RuntimeError(
            "Expected self.is_sparse() && result.is_sparse() to be true, but got false. Give out= "
            "a sparse tensor of the same layout."
        )
    if is_grad_enabled() and target.requires_grad and target.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. Take a "
            "new tensor."
        )
    if is_grad_enabled() and (target.requires_grad or made.requires_grad):
        raise refusal("a write that is recorded")
    if not can_cast(made.dtype, target.dtype):
        raise RuntimeError(
            f"result type {made.dtype.scalar_name} can't be cast to the desired output type "
            f"{target.dtype.scalar_name}. Convert the tensor first."
        )
    if tuple(made.shape) != tuple(target.shape):
        raise refusal(f"a result of shape {list(made.shape)} in a tensor of another shape")
    target._coordinates, target._unique = made._coordinates, made._unique
    target._elements = made._elements.detach().to(target.dtype)
    bump_version(target)
    return target


for _name in (*_NAMES, *_LINEAR):
    _note(_name, _name in _LINEAR)


@handles(_tensor.zero_, compressed=True)
def _zero(self: CoordinateTensor) -> Any:
    """Forget all elements."""
    _written(self, zeros_like(self))
    self._unique = True
    return self


@handles(_tensor.data.__get__, compressed=True)
def _data(self: CoordinateTensor) -> Any:
    return self.detach()


@handles(aten.adjoint, _tensor.adjoint, _tensor.H.__get__, _tensor.mH.__get__, compressed=True)
def adjoint(input: CoordinateTensor) -> Any:
    """Return the conjugate transpose of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(
            f"tensor.H is only supported on matrices, but this has {input.ndim} dimensions. Use "
            "transpose()."
        )
    return transpose(input, 0, 1).conj()


@handles(aten.any, _tensor.any)
def any_element(input: CoordinateTensor, *args: object, **kwargs: object) -> Tensor:
    """Return whether some element is not zero; parts along dimensions are refused."""
    if args or kwargs:
        raise refusal("any(dim)")
    found: Callable[[], Tensor] = (summed(input)._elements != 0).any
    return found()

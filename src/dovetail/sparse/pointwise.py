"""Functions of single elements that are zero at zero: they run on the values of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import is_grad_enabled
from dovetail_kernel import sparse_coo

from .arithmetic import transpose, zeros_like
from .conversions import converted, summed, written
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
        return made if out is None else written(out, made)

    def in_place(self: CoordinateTensor, *args: object, **kwargs: object) -> Any:
        if not is_linear and self._form is sparse_coo and not self._unique:
            raise RuntimeError(f"{name}_ requires coalesced input. Call coalesce() first.")
        values = self._elements.clone() if is_grad_enabled() else self._elements.detach().clone()
        return written(self, converted(self, getattr(values, f"{name}_")(*args, **kwargs)))

    known = [getattr(aten, name, None), getattr(_tensor, name, None)]
    plain = [each.__get__ if isinstance(each, property) else each for each in known]
    handles(*[each for each in plain if each is not None], compressed=True)(pointwise)
    if (changing := getattr(_tensor, f"{name}_", None)) is not None:
        handles(changing, compressed=True)(in_place)


for _name in (*_NAMES, *_LINEAR):
    _note(_name, _name in _LINEAR)


@handles(_tensor.zero_, compressed=True)
def _zero(self: CoordinateTensor) -> Any:
    """Forget all elements."""
    written(self, zeros_like(self))
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

"""What optimizers of other packages import from the module of `Optimizer`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import set_grad_enabled
from dovetail_kernel import Guard, dtype, float32, float64, get_default_dtype, restoring

__all__ = [
    "_RequiredParameter",
    "_capturable_doc",
    "_default_to_fused_or_foreach",
    "_device_dtype_check_for_fused",
    "_differentiable_doc",
    "_disable_dynamo_if_unsupported",
    "_foreach_doc",
    "_fused_doc",
    "_get_scalar_dtype",
    "_get_value",
    "_maximize_doc",
    "_params_doc",
    "_stack_if_compiling",
    "_to_scalar",
    "_use_grad_for_differentiable",
    "_view_as_real",
    "required",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _RequiredParameter:
    """The default of an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Final = _RequiredParameter()
"""What an optimizer puts into its defaults for an option without default."""

_params_doc: Final = "params: tensors to optimize, or dicts of them with options of a group"
_maximize_doc: Final = "maximize: ascend instead of descending"
_differentiable_doc: Final = "differentiable: record the step for autograd"
_foreach_doc: Final = "foreach: whether a step is computed for all tensors together"
_fused_doc: Final = "fused: whether a step is computed by one kernel"
_capturable_doc: Final = "capturable: no effect, as no step is captured in a graph"


def _use_grad_for_differentiable(func: _Function) -> _Function:
    """Decorate a ``step`` to be recorded if the default ``differentiable`` of its optimizer is
    true, and not otherwise.
    """

    @wraps(func)
    @restoring(*Guard.variables)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults["differentiable"])):
            return func(self, *args, **kwargs)

    return step  # type: ignore[return-value]


def _get_value(x: Any) -> Any:
    """Return the number in a tensor; anything else as it is."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: object) -> Any:
    """Return `x`: nothing is compiled."""
    return x


def _to_scalar(x: Any) -> Any:
    """Return a tensor of one element without its dimensions; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def _get_scalar_dtype(is_fused: object = None) -> dtype:
    """Return the dtype of the tensors that count steps."""
    return float64 if not is_fused and get_default_dtype() is float64 else float32


def _default_to_fused_or_foreach(
    params: Sequence[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return whether PyTorch fuses a step, and whether it takes tensors together, where no option
    says it.
    """
    if differentiable:
        return False, False
    fused = use_fused and all([each.is_floating_point() for each in params])
    return fused, not fused and all([each.device.type == "cuda" for each in params])


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raise RuntimeError for a parameter that is not of floating point."""
    if not p.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: ['cpu', 'cuda'] but {p.dtype} and {p.device.type}"
        )


def _disable_dynamo_if_unsupported(single_tensor_fn: object = None) -> Any:
    """Return a decorator that returns its function: nothing is compiled."""
    return lambda func: func


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex tensors in lists by views of their real and imaginary parts."""
    for place, parameter in enumerate(params):
        if parameter.is_complex():
            for each in (params, *state_and_grads):
                each[place] = aten.view_as_real(each[place])

"""Checks of ``strict=True`` in `autograd.functional`, and the zeros that stand for no dependence
otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dovetail_kernel import TensorBase

from ..graph.engine_ops import filled_like

_NOT_DIFFERENTIABLE: Final = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be "
        "computed in a "
        "differentiable manner from the input when running in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with "
        "respect to input {} "
        "is independent of the input. This is not allowed in strict mode. You should ensure that "
        "your function is "
        "twice differentiable and that the jacobian depends on the inputs (this would be violated "
        "by a linear function "
        "for example)."
    ),
}

_INDEPENDENT: Final = {
    "back": "The output of the user-provided function is independent of "
    "input {}. This is not allowed in strict mode.",
    "back_trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs "
        "when using the double "
        "backward trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {}. This is not "
        "allowed in strict mode."
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {} in the "
        "grad_jacobian. This is not "
        "allowed in strict mode as it prevents from using the double backward trick to replace "
        "forward mode AD."
    ),
}


def check_depends(tensors: object, kind: str, strict: bool) -> None:
    """Refuse, if `strict`, a tensor that does not depend differentiably on the inputs.

    Parameters
    ----------
    kind
        What the tensors are: ``'outputs'`` or ``'jacobian'``.

    Raises
    ------
    RuntimeError
        With its position.
    """
    if not strict:
        return
    for index, tensor in enumerate(tensors if isinstance(tensors, (tuple, list)) else (tensors,)):
        if tensor is None or not tensor.requires_grad:
            raise RuntimeError(_NOT_DIFFERENTIABLE[kind].format(index))


def check_grads(
    grads: Sequence[TensorBase | None],
    like: Sequence[TensorBase],
    strict: bool,
    create_graph: bool,
    stage: str,
) -> tuple[TensorBase, ...]:
    """Return `grads` with zeros shaped as `like` for None.

    Parameters
    ----------
    stage
        What was differentiated: ``'back'``, ``'back_trick'``, ``'double_back'``,
        ``'double_back_trick'``, or ``'output i'`` of the function.

    Raises
    ------
    RuntimeError
        If `strict`, for None, and with `create_graph` for a gradient that does not depend on the
        inputs.
    """
    made = []
    for index, (found, model) in enumerate(zip(grads, like, strict=True)):
        if strict and found is None:
            if stage in _INDEPENDENT:
                raise RuntimeError(_INDEPENDENT[stage].format(index))
            raise RuntimeError(
                f"{stage.capitalize()} of the user-provided function is independent of input "
                f"{index}. This is not "
                "allowed in strict mode."
            )
        if strict and create_graph and found is not None and not found.requires_grad:
            what = "hessian" if stage.startswith("double") else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {index}. This "
                "is not allowed in "
                "strict mode when create_graph=True."
            )
        made.append(filled_like(model, 0) if found is None else found)
    return tuple(made)

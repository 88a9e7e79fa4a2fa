"""Full backward hooks: identity nodes at a module's inputs and outputs, whose node hooks call the
module's hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd import Function, is_grad_enabled
from dovetail_kernel import warn_user

from .module_class import Module

Gradients = tuple[Any, ...]


class BackwardHookFunction(Function):
    """Identity whose node marks the boundary of a module in the graph."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> tuple[Tensor, ...]:
        return gradients


class BackwardBoundary:
    """One call of a module with backward hooks: wraps its inputs (`enter`) and outputs
    (`leave`).
    """

    def __init__(
        self,
        module: Module,
        hooks: tuple[Callable[..., object], ...],
        pre_hooks: tuple[Callable[..., object], ...],
    ) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: Gradients | None = None
        self.input_positions: list[int] | None = None
        self.input_count = 0
        self.output_positions: list[int] = []
        self.output_count = 0

    def enter(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        """Pass the tensors among the inputs through the boundary."""
        self.input_count = len(args)
        wrapped, self.input_positions = _pass_through(
            args, lambda node: node.register_hook(self._inputs_known)
        )
        return wrapped

    def leave(self, result: object) -> Any:
        """Pass the output, or the tensors in a tuple of outputs, through the boundary."""
        if not isinstance(result, (Tensor, tuple)):
            warn_user(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
            )
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        self.output_count = len(outputs)
        wrapped, positions = _pass_through(
            outputs, lambda node: node.register_prehook(self._outputs_known)
        )
        if positions is None:
            return result
        self.output_positions = positions
        if isinstance(result, Tensor):
            return wrapped[0]
        if hasattr(result, "_fields"):
            return type(result)(*wrapped)
        return type(result)(wrapped)

    def _outputs_known(self, gradients: Gradients) -> Gradients:
        outputs = _spread(gradients, self.output_positions, self.output_count)
        for hook in self.pre_hooks:
            outputs = _replaced(hook(self.module, outputs), outputs, "pre hook", "grad_output")
        self.grad_outputs = outputs
        if self.input_positions is None:
            self._call_without_inputs(outputs)
        return tuple(outputs[position] for position in self.output_positions)

    def _call_without_inputs(self, outputs: Gradients) -> None:
        if self.hooks:
            warn_user(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no "
                f"inputs require gradients: grad_input of {type(self.module).__name__} is all "
                "None."
            )
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.input_count, outputs)
            if result is not None and not (
                isinstance(result, tuple) and all([item is None for item in result])
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None "
                    f"for all gradients, but {_name(hook)} returned {type(result).__name__}. "
                    "To change gradients there, use a tensor hook or a backward pre hook."
                )
        self.grad_outputs = None

    def _inputs_known(self, gradients: Gradients, _: Gradients) -> Gradients | None:
        if self.grad_outputs is None:  # a second backward, which comes past the output
            return None
        assert self.input_positions is not None
        inputs = _spread(gradients, self.input_positions, self.input_count)
        for hook in self.hooks:
            inputs = _replaced(
                hook(self.module, inputs, self.grad_outputs), inputs, "hook", "grad_input"
            )
        self.grad_outputs = None
        return tuple(inputs[position] for position in self.input_positions)


def _pass_through(
    values: tuple[Any, ...], attach: Callable[..., object]
) -> tuple[tuple[Any, ...], list[int] | None]:
    """Wrap the tensors in ``values`` by one boundary node and ``attach`` a hook to it.

    Returns the new values and the tensors' positions, or the old ones and None where no gradient
    will come by.
    """
    positions = [position for position, value in enumerate(values) if isinstance(value, Tensor)]
    if not (is_grad_enabled() and any([values[position].requires_grad for position in positions])):
        return values, None
    outputs = BackwardHookFunction.apply(*[values[position] for position in positions])
    attach(next(iter([output.grad_fn for output in outputs if output.requires_grad])))
    wrapped = list(values)
    for position, output in zip(positions, outputs, strict=True):
        wrapped[position] = output
    return tuple(wrapped), positions


def _spread(gradients: Gradients, positions: list[int], count: int) -> Gradients:
    spread: list[Any] = [None] * count
    for position, gradient in zip(positions, gradients, strict=True):
        spread[position] = gradient
    return tuple(spread)


def _replaced(result: object, current: Gradients, kind: str, what: str) -> Gradients:
    if result is None:
        return current
    new = result if isinstance(result, tuple) else (result,)
    if len(new) != len(current):
        raise RuntimeError(
            f"Backward {kind} returned an invalid number of {what}, got {len(new)}, but expected "
            f"{len(current)}. "
            "Return one gradient (or None) for each."
        )
    return new


def _name(function: Callable[..., object]) -> str:
    return str(getattr(function, "__qualname__", function))

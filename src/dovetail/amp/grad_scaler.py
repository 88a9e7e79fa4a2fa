"""`GradScaler`: scaling of the loss, so that gradients do not underflow in half precision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum
from math import isfinite
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import Device, PluginError, float16, float32, plugin_manager, warn_user

__all__ = ["GradScaler", "OptState"]

NOT_SCALED = (
    "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the "
    "iteration."
)


class OptState(Enum):
    """State of an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, unscales gradients, and skips steps with non-finite gradients.

    In every iteration: ``scaler.scale(loss).backward()``, ``scaler.step(optimizer)``,
    ``scaler.update()``; call `unscale_` before the step to read or clip the gradients.

    Parameters
    ----------
    device : str, default 'cuda'
        Type of the device.
    init_scale : float, default 65536.0
        The initial scale.
    growth_factor : float, default 2.0
        Factor of the scale after ``growth_interval`` iterations with finite gradients.
    backoff_factor : float, default 0.5
        Factor of the scale after an iteration with non-finite gradients.
    growth_interval : int, default 2000
        See ``growth_factor``.
    enabled : bool, default True
        If False, nothing is scaled, and `step` only calls ``optimizer.step()``.

    Raises
    ------
    AssertionError
        If ``growth_factor`` is not above 1, or if ``backoff_factor`` is not below 1.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not _has_cuda():
            warn_user("GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if self._enabled:
            if not growth_factor > 1.0:
                raise AssertionError(f"The growth factor must be > 1.0. It is {growth_factor}.")
            if not backoff_factor < 1.0:
                raise AssertionError(f"The backoff factor must be < 1.0. It is {backoff_factor}.")
            self._init_scale = init_scale
            self._scale: Tensor | None = None
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._init_growth_tracker = 0
            self._growth_tracker: int | None = None
            self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(_fresh_state)

    # -- scaling -----------------------------------------------------------------------------------

    def scale(self, outputs: object) -> Any:
        """Multiply tensors by the scale.

        Parameters
        ----------
        outputs : Tensor or iterable of Tensor
            A tensor, or nested lists and tuples of tensors, whose structure is preserved.

        Raises
        ------
        ValueError
            For anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale_on(outputs.device)
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(each) for each in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError(
            "outputs must be a Tensor or an iterable of Tensors. "
            f"Pass the loss; this is {type(outputs).__name__}."
        )

    def _scale_on(self, device: Device) -> Tensor:
        if self._scale is None:
            self._scale = aten.full((), self._init_scale, dtype=float32, device=device)
            self._growth_tracker = self._init_growth_tracker
        scale: Tensor = self._scale.to(device)
        return scale

    def _begun_scale(self, function: str) -> Tensor:
        """Return the scale. Raises AssertionError if nothing has been scaled yet."""
        if self._scale is None:
            raise AssertionError(f"Attempted {function} but _scale is None.  {NOT_SCALED}")
        return self._scale

    # -- steps -------------------------------------------------------------------------------------

    def unscale_(self, optimizer: object) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place.

        Raises
        ------
        RuntimeError
            If they were already unscaled since the last `update`, or after `step`.
        ValueError
            For gradients in float16.
        """
        if not self._enabled:
            return
        scale = self._begun_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update(). "
                "Call it once."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step(). Call it before.")
        inverse = 1.0 / scale.item()
        state["found_inf_per_device"] = _unscale(_gradients_of(optimizer), inverse)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the step of an optimizer, unless a gradient is not finite.

        Parameters
        ----------
        optimizer : Optimizer
            Optimizer, whose gradients are unscaled first unless `unscale_` was called.
        *args, **kwargs
            Arguments of its ``step``.

        Returns
        -------
        Any
            The result of its ``step``; None if the step was skipped.

        Raises
        ------
        RuntimeError
            For a closure, and for a second step before `update`.
        AssertionError
            If no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "Closure use is not currently supported if GradScaler is enabled. Leave it out."
            )
        self._begun_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                "step() has already been called since the last update(). Call update() first."
            )
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError(
                "No inf checks were recorded for this optimizer. Compute gradients first."
            )
        result = None
        if not any([found.item() for found in state["found_inf_per_device"].values()]):
            result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Set the scale of the next iteration.

        Parameters
        ----------
        new_scale : float or Tensor, optional
            Default: the scale shrinks if a gradient was not finite since the last update, and grows
            after ``growth_interval`` iterations with finite gradients.

        Raises
        ------
        AssertionError
            If nothing was scaled, if no gradient was checked, or if ``new_scale`` has the wrong
            type.
        """
        if not self._enabled:
            return
        scale = self._begun_scale("update")
        if new_scale is not None:
            scale.fill_(_checked_scale(new_scale))
        else:
            found = [
                each.item()
                for state in self._per_optimizer_states.values()
                for each in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError(
                    "No inf checks were recorded prior to update. Call step() first."
                )
            self._adapt(scale, any(found))
        self._per_optimizer_states = defaultdict(_fresh_state)

    def _adapt(self, scale: Tensor, has_infinite: bool) -> None:
        if has_infinite:
            scale.fill_(scale.item() * self._backoff_factor)
            self._growth_tracker = 0
            return
        successes = self._get_growth_tracker() + 1
        if successes == self._growth_interval:
            # In the scale's own precision: it must not become infinite there.
            grown = (scale * self._growth_factor).item()
            if isfinite(grown):
                scale.fill_(grown)
            successes = 0
        self._growth_tracker = successes

    # -- options -----------------------------------------------------------------------------------

    def get_scale(self) -> float:
        """Return the scale; 1.0 if nothing is scaled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """Return the growth factor of the scale."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor of the scale."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the backoff factor of the scale."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor of the scale."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of iterations after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of iterations after which the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else tracker

    def is_enabled(self) -> bool:
        """Return whether anything is scaled."""
        return self._enabled

    # -- saving ------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the scale and the options; an empty dict if the scaler is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`.

        Raises
        ------
        RuntimeError
            If the dict is empty and this scaler is enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler. Make this one with enabled=False, too."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__dict__.update(state)


def _has_cuda() -> bool:
    try:
        plugin_manager.load_backend("cuda")
    except PluginError:
        return False
    return True


def _gradients_of(optimizer: Any) -> list[Tensor]:
    return [
        parameter.grad
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.grad is not None
    ]


@no_grad()
def _unscale(gradients: list[Tensor], inverse: float) -> dict[Device, Tensor]:
    """Multiply gradients in place, and say for each device whether one is not finite there."""
    if any([each.dtype == float16 for each in gradients]):
        raise ValueError("Attempting to unscale FP16 gradients. Keep parameters in float32.")
    found: dict[Device, Tensor] = {}
    for gradient in gradients:
        is_infinite = gradient.isfinite().all().logical_not()
        before = found.get(gradient.device)
        found[gradient.device] = is_infinite if before is None else before.logical_or(is_infinite)
        gradient.mul_(inverse)
    return {device: each.to(float32) for device, each in found.items()}


def _checked_scale(new_scale: object) -> float:
    if isinstance(new_scale, float):
        return new_scale
    if not isinstance(new_scale, Tensor) or new_scale.numel() != 1 or new_scale.requires_grad:
        raise AssertionError(
            "new_scale should be a float or a 1-element FloatTensor with "
            "requires_grad=False. Pass a float."
        )
    return float(new_scale.item())

"""Configurations of a run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields
from types import MethodType, ModuleType
from typing import Any

from dovetail_aten import Tensor
from dovetail_autograd.transforms import pytree
from dovetail_dispatcher import without_conditions
from dovetail_kernel import Device, get_default_device, get_default_dtype, set_default_dtype
from dovetail_kernel import dtype as dtype_class

from ...nn import Module


@dataclass(frozen=True)
class Settings:
    """One configuration.

    Attributes
    ----------
    device, dtype
        Device and dtype to convert the arguments to, and the defaults of the run. None means
        unchanged.
    conditions
        Whether kernels with conditions are enabled.
    native
        Whether compiled code is enabled, in a separate process. None means unchanged, in this
        process.
    within
        Returns a context manager around the run.
    """

    device: Device | None = None
    dtype: dtype_class | None = None
    conditions: bool = True
    native: bool | None = None
    within: Callable[[], AbstractContextManager[Any]] | None = None

    def as_code(self) -> str:
        """Return the Python expression of the configuration, as an argument of `compare_runs`."""
        parts = []
        if self.device is not None:
            parts.append(f"'device': {str(self.device)!r}")
        if self.dtype is not None:
            parts.append(f"'dtype': dovetail.{self.dtype.name}")
        if not self.conditions:
            parts.append("'conditions': False")
        if self.native is not None:
            parts.append(f"'native': {self.native}")
        if self.within is not None:
            name = getattr(self.within, "__qualname__", type(self.within).__name__)
            parts.append(f"'within': {name.rpartition('.')[2]}")
        return f"{{{', '.join(parts)}}}"


def settings_of(value: object, parameter: str) -> Settings:
    """Return the configuration for an argument of `compare_runs`.

    Parameters
    ----------
    value
        None, a device, its name, a dtype, or a dict with attributes of `Settings`.
    parameter
        Name of the argument, for the error.
    """
    if value is None:
        return Settings()
    if isinstance(value, str | Device):
        return Settings(device=Device(value))
    if isinstance(value, dtype_class):
        return Settings(dtype=value)
    names = [each.name for each in fields(Settings)]
    if not isinstance(value, Mapping):
        raise TypeError(
            f"compare_runs(): {parameter} must be a device, a dtype, a dict or the path of a "
            f"saved trace, not {type(value).__name__}."
        )
    if unknown := [name for name in value if name not in names]:
        raise TypeError(
            f"compare_runs(): {parameter} has no setting {unknown[0]!r}. Settings are "
            f"{', '.join(names)}."
        )
    given = dict(value)
    if given.get("device") is not None:
        given["device"] = Device(given["device"])
    return Settings(**given)


@contextmanager
def in_force(settings: Settings) -> Iterator[None]:
    """Run a block under a configuration, except for the setting of compiled code."""
    with ExitStack() as stack:
        if settings.device is not None:
            stack.enter_context(settings.device)
        if settings.dtype is not None:
            stack.callback(set_default_dtype, get_default_dtype())
            set_default_dtype(settings.dtype)
        if not settings.conditions:
            stack.enter_context(without_conditions())
        if settings.within is not None:
            stack.enter_context(settings.within())
        yield


def placed(program: object, settings: Settings) -> Any:
    """Return a copy of `program` with its tensors and modules converted to a configuration.

    Parameters
    ----------
    program
        Function, arguments and keyword arguments, which may share tensors.
    """
    shared = [leaf for leaf in pytree.flatten(program)[0] if isinstance(leaf, ModuleType)]
    made = copy.deepcopy(program, {id(each): each for each in shared})
    if settings.device is None and settings.dtype is None:
        return made
    known: dict[int, Tensor] = {}

    def place(leaf: object) -> Any:
        if isinstance(leaf, Module):
            return leaf.to(device=settings.device, dtype=settings.dtype)
        if isinstance(leaf, MethodType) and isinstance(leaf.__self__, Module):
            place(leaf.__self__)
        if isinstance(leaf, Tensor):
            return known.setdefault(id(leaf), as_placed(leaf, settings))
        return leaf

    return pytree.map_leaves(place, made)


def as_placed(tensor: Tensor, settings: Settings) -> Tensor:
    """Return a leaf with the elements of `tensor` on the device and in the dtype of `settings`."""
    inexact = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    dtype = settings.dtype if inexact else None
    if dtype is not None and tensor.dtype.is_complex:
        dtype = dtype.to_complex()
    moved: Tensor = tensor.detach().to(
        device=settings.device or tensor.device, dtype=dtype or tensor.dtype
    )
    if inexact:
        moved.requires_grad_(tensor.requires_grad)
    return moved


def device_of(settings: Settings) -> Device:
    """Return the device that a run makes its tensors on."""
    return settings.device or get_default_device()

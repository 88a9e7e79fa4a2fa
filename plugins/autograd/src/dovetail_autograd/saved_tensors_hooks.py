"""Saved-tensor hooks: what forward keeps for backward can be packed away, moved, or refused."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from dovetail_kernel.tensor_base import TensorBase

from . import calls
from .recording import Extras, Pack, Unpack, change_extras, recording_extras, restore_extras


class saved_tensors_hooks:
    """Context manager: `pack` is called with every tensor saved inside, `unpack` gives it back when backward needs it.

    Parameters
    ----------
    pack_hook
        Called once per saved tensor, outside of any graph; may return anything, and may not write to its argument.
    unpack_hook
        Gets what `pack_hook` returned; has to return an equal tensor.

    Raises
    ------
    RuntimeError
        On entering, inside `disable_saved_tensors_hooks`.
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before: list[Extras] = []

    def __enter__(self) -> None:
        extras = recording_extras() or Extras()
        if extras.disabled is not None:
            raise RuntimeError(extras.disabled)
        self._before.append(change_extras(hooks=(*extras.hooks, (self.pack_hook, self.unpack_hook))))

    def __exit__(self, *exception: object) -> None:
        restore_extras(self._before.pop())


class save_on_cpu(saved_tensors_hooks):
    """Context manager: saved tensors wait in host memory and return to their device when backward needs them.

    Parameters
    ----------
    pin_memory
        Accepted for compatibility; host memory is whatever the cpu backend allocates. Default: False.
    device_type
        Accepted for compatibility; tensors of every device are moved. Default: ``"cuda"``.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: TensorBase) -> tuple[Any, TensorBase]:
            device = tensor.device
            return device, calls.clone(tensor) if device.type == "cpu" else calls.move(tensor, "cpu")

        def unpack(packed: tuple[Any, TensorBase]) -> TensorBase:
            device, tensor = packed
            return tensor if device.type == "cpu" else calls.move(tensor, device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(ContextDecorator):
    """Context manager and decorator: saved-tensor hooks are refused inside.

    Parameters
    ----------
    error_message
        Message of the RuntimeError.

    Raises
    ------
    RuntimeError
        On entering, if hooks are in force already.
    """

    def __init__(self, error_message: str) -> None:
        self._message = error_message
        self._before: list[Extras] = []

    def __enter__(self) -> None:
        extras = recording_extras()
        if extras is not None and extras.hooks:
            raise RuntimeError(self._message)
        self._before.append(change_extras(disabled=self._message))

    def __exit__(self, *exception: object) -> None:
        restore_extras(self._before.pop())

"""States of a call that another call gets too: of random number generators, and of autocast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from dovetail_aten import Tensor
from dovetail_aten.autocast import (
    autocast,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
)

from ... import cuda
from ...random import fork_rng, generator_of


class RngStates:
    """The current states of the default generators of the cpu and of the devices of the tensors in
    `args`.
    """

    def __init__(self, args: Sequence[object]) -> None:
        self._states = {kind: generator_of(kind).get_state() for kind in _device_types(args)}

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Context manager that restores the saved states inside the block, and the current states
        afterwards.
        """
        with fork_rng(self._states):
            for kind, state in self._states.items():
                generator_of(kind).set_state(state)
            yield


class AutocastStates:
    """What autocast is for the cpu and for the devices of the tensors in `args`."""

    def __init__(self, args: Sequence[object]) -> None:
        self._states = [
            (kind, get_autocast_dtype(kind), is_autocast_enabled(kind))
            for kind in _device_types(args)
            if is_autocast_available(kind)
        ]

    def restored(self) -> ExitStack:
        """Enter the saved states, and return what leaves them."""
        stack = ExitStack()
        for state in self._states:
            stack.enter_context(autocast(*state))
        return stack


def _device_types(args: Sequence[object]) -> set[str]:
    return {"cpu", *[value.device.type for value in args if isinstance(value, Tensor)]} - {"meta"}


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the indices of the CUDA devices of the tensors among the arguments, and the states of
    their generators.
    """
    found = {value.get_device() for value in args if isinstance(value, Tensor) and value.is_cuda}
    indices = sorted(found)
    return indices, [cuda.get_rng_state(index) for index in indices]


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Restore the generators of CUDA devices to the states from `get_device_states`."""
    for index, state in zip(devices, states, strict=False):
        cuda.set_rng_state(state, index)

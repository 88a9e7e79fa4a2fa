"""The random number generators of the devices that a call works on: where they stood, to go there
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail_aten import Tensor

from ... import cuda
from ...random import fork_rng, generator_of


class RngStates:
    """The present states of the default generators of cpu, and of the devices of the tensors in
    `args`.
    """

    def __init__(self, args: Sequence[object]) -> None:
        kinds = {"cpu", *[value.device.type for value in args if isinstance(value, Tensor)]} - {
            "meta"
        }
        self._states = {kind: generator_of(kind).get_state() for kind in kinds}

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Context manager: the generators start from where they stood, and afterwards are where
        they were before.
        """
        with fork_rng(self._states):
            for kind, state in self._states.items():
                generator_of(kind).set_state(state)
            yield


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the indices of the CUDA devices of the tensors among the arguments, and where the
    generators there stand.
    """
    found = {value.get_device() for value in args if isinstance(value, Tensor) and value.is_cuda}
    indices = sorted(found)
    return indices, [cuda.get_rng_state(index) for index in indices]


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Put the generators of CUDA devices where `get_device_states` found them."""
    for index, state in zip(devices, states, strict=False):
        cuda.set_rng_state(state, index)

"""The random number generators of the devices that a call works on: where they stood, to go there
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail_aten import Tensor

from ..random import fork_rng, generator_of

__all__ = ["RngStates"]


class RngStates:
    """The present states of the default generators of cpu, and of the devices of the tensors in
    `args`.
    """

    def __init__(self, args: Sequence[Any]) -> None:
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

"""The generator of PyTorch's random numbers on the cpu: the Mersenne Twister (Matsumoto and
Nishimura 1998, doi:10.1145/272991.272995), a normal number that is kept, and their state as bytes.
"""

from __future__ import annotations

from ctypes import c_char
from functools import cache, lru_cache
from struct import Struct
from threading import RLock
from typing import Any, Final

import numpy as np

from dovetail_kernel import renewed_after_fork

Array = np.ndarray[Any, Any]

_WORDS: Final = 624
_HEAD: Final = Struct("@QiiQ")
"""The begin of PyTorch's states: seed, left, seeded, next. Behind it are the words, as uint64."""

_TAIL: Final = Struct("@dddifi4x")
"""The end of PyTorch's states: x, y, rho, kept, float, is_float."""

_INSIDE: Final = np.dtype([("words", "u4", _WORDS), ("drawn", "i4")])
"""The layout of NumPy's ``mt19937_state``, if `_layout_is_known`."""


class MersenneTwister:
    """32-bit words, from a seed as PyTorch's cpu generator makes them.

    Parameters
    ----------
    seed
        Its lowest 32 bits count.

    Attributes
    ----------
    bits
        What draws the words.
    kept
        The second normal number of the last pair, until it is drawn; else None.
    lock
        Held while numbers are drawn.
    """

    __slots__ = ("__weakref__", "_inside", "bits", "kept", "lock")

    state_size: Final = _HEAD.size + 8 * _WORDS + _TAIL.size

    def __init__(self, seed: int) -> None:
        self.bits = np.random.MT19937(0)
        self._inside = _memory_of(self.bits) if _layout_is_known() else None
        self.go_to(_seeded(seed), _WORDS)
        self.kept: float | None = None
        self.lock = renewed_after_fork(RLock())

    def position(self) -> tuple[Array, int]:
        """Return the words, and how many of them have been drawn."""
        if self._inside is None:
            return _position_of(self.bits)
        words, drawn = self._inside
        return words.copy(), int(drawn)

    def go_to(self, words: Array, drawn: int) -> None:
        """Go to where `position` said so."""
        if self._inside is not None:
            self._inside[0][:], self._inside[1][()] = words, drawn
            return
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": drawn}}

    # -- the state ---------------------------------------------------------------------------------

    def state(self, seed: int) -> bytes:
        """Return where the generator stands, beside the seed that it started from, in PyTorch's
        layout.
        """
        words, position = self.position()
        # The words are renewed when one is asked for and none is left; before the first one, the
        # seed's stand there.
        is_fresh = position == _WORDS and words.tobytes() == _seeded(seed).tobytes()
        head = _HEAD.pack(seed, _WORDS + 1 - position, 1, 0 if is_fresh else position)
        tail = _TAIL.pack(0, self.kept or 0, 0, self.kept is not None, 0, 0)
        return head + words.astype(np.uint64).tobytes() + tail

    def restore(self, state: bytes) -> int:
        """Restore a state, and return the seed that it started from. Raises RuntimeError if the
        bytes are not a valid state.
        """
        seed, left, seeded, position = _HEAD.unpack_from(state)
        words = np.frombuffer(state, np.uint64, _WORDS, _HEAD.size).astype(np.uint32)
        _, second, _, is_kept, _, _ = _TAIL.unpack_from(state, self.state_size - _TAIL.size)
        fresh = left == 1 and position == 0
        if not seeded or not (fresh or (left >= 1 and left + position == _WORDS + 1)):
            raise RuntimeError(
                "Invalid mt19937 state: its numbers contradict each other. Give what get_state() "
                "of a generator on cpu returned."
            )
        with self.lock:
            self.go_to(words, _WORDS if fresh else position)
            self.kept = second if is_kept else None
        return int(seed)

    def __deepcopy__(self, memo: object) -> MersenneTwister:
        made = type(self)(0)
        with self.lock:
            made.restore(self.state(0))
        return made


@lru_cache(maxsize=8)  # asked for by each `state`; NumPy takes 0.1 ms to make a RandomState
def _seeded(seed: int) -> Array:
    """Return the words that a seed stands for: those of NumPy's ``RandomState(seed)``."""
    state: Any = np.random.RandomState(seed & 0xFFFFFFFF).get_state(legacy=False)
    words: Array = state["state"]["key"]
    words.flags.writeable = False
    return words


def _position_of(bits: np.random.MT19937) -> tuple[Array, int]:
    inside: Any = bits.state["state"]
    return inside["key"], int(inside["pos"])


def _memory_of(bits: np.random.MT19937) -> tuple[Array, Array]:
    """Return what `_INSIDE` names in the memory of `bits`, which must outlive it."""
    memory: Any = (c_char * _INSIDE.itemsize).from_address(bits.ctypes.state_address)
    inside = np.frombuffer(memory, _INSIDE).reshape(())
    return inside["words"], inside["drawn"]


@cache
def _layout_is_known() -> bool:
    """Return whether NumPy keeps words and position as `_INSIDE` says: reading its own ``state``
    takes twenty times as long.
    """
    bits = np.random.MT19937(5)
    bits.random_raw(3, output=False)
    inside, (words, drawn) = _memory_of(bits), _position_of(bits)
    return bool((inside[0] == words).all() and inside[1] == drawn)

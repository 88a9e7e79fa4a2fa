"""The generator of PyTorch's random numbers on the cpu: the Mersenne Twister (Matsumoto and
Nishimura 1998, doi:10.1145/272991.272995), a normal number that is kept, and their state as bytes.
"""

from __future__ import annotations

from threading import RLock
from typing import Any, Final

import numpy as np

from dovetail_kernel import renewed_after_fork

from .words_ahead import WordsAhead

__all__ = ["MersenneTwister"]

Array = np.ndarray[Any, Any]

_WORDS: Final = 624
_MOST_BATCHES: Final = 12
"""So many times the words are renewed for one block at most."""
_FEW: Final = 1 << 13
"""So many words cost less one by one than what the other way costs to begin."""
_MASK: Final = np.array((1 << 53) - 1, np.uint64)
_UPPER: Final = np.array(32, np.uint64)
_LONG: Final = np.dtype(np.int64)
_DOUBLE: Final = np.dtype(np.float64)
_UNIT: Final = np.array(2.0**-53)
_NONE_AHEAD: Final = WordsAhead(np.empty(0, np.uint64))
_STATE: Final = np.dtype(
    {
        "names": [
            "seed", "left", "seeded", "next", "words", "x", "y", "rho", "kept", "float", "is_float",
        ],
        "formats": ["u8", "i4", "i4", "u8", ("u8", _WORDS), "f8", "f8", "f8", "i4", "f4", "i4"],
    },
    align=True,
)  # fmt: skip
"""The layout of PyTorch's states, in the machine's order of bytes."""


class MersenneTwister:
    """32-bit words, from a seed as PyTorch's cpu generator makes them.

    Parameters
    ----------
    seed
        Its lowest 32 bits count.

    Attributes
    ----------
    kept
        The second normal number of the last pair, until it is drawn; else None.
    lock
        Held while numbers are drawn.
    """

    __slots__ = (
        "__weakref__",
        "_ahead",
        "_batches",
        "_bits",
        "_in_batch",
        "_words",
        "kept",
        "lock",
    )

    state_size: Final = _STATE.itemsize

    def __init__(self, seed: int) -> None:
        self._bits = np.random.MT19937(0)
        self._words = np.random.Generator(self._bits)
        self._place(_seeded(seed), _WORDS)
        self.kept: float | None = None
        self.lock = renewed_after_fork(RLock())

    def _place(self, words: Array, position: int) -> None:
        self._in_batch = _WORDS - position
        self._ahead = _NONE_AHEAD
        self._batches = 1
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": words, "pos": position},
        }

    def ahead(self, count: int) -> tuple[WordsAhead, int] | None:
        """Draw the next `count` words where they lie in a block that was drawn ahead.

        Returns
        -------
        tuple or None
            The block, and where in it they begin. None for many words, which are to be drawn by
            another method.
        """
        block = self._ahead
        start = block.at
        if start + count > block.words.size:
            # A block ends where the words are renewed, and begins with what is left of the one
            # before. What makes numbers of words takes about as long for many as for few, so that
            # blocks grow with what is drawn.
            left, size = block.left, self._in_batch or self._batches * _WORDS
            if not 0 < count <= size // 2:
                return None
            if not self._in_batch:
                self._batches = min(2 * self._batches, _MOST_BATCHES)
            # Going back within the last batch is another place in it; before it, words are renewed.
            origin = self.position() if left or size > _WORDS else None
            words = self._drawn(size)
            if left:
                words = np.concatenate((block.words[start:], words))
            block = self._ahead = WordsAhead(words, origin)
            start = 0
        block.at = start + count
        return block, start

    def _drawn(self, count: int) -> Array:
        """Return `count` words behind those that were drawn ahead."""
        self._in_batch = (self._in_batch - count) % _WORDS
        if count < _FEW:
            made: Array = self._bits.random_raw(count)
            return made
        return self._words.integers(0, 1 << 32, count, dtype=np.uint32)

    def raw(self, count: int) -> Array:
        """Return the next `count` words, as uint32 or uint64, whichever is quicker."""
        block = self._ahead
        if not block.left:
            return self._drawn(count)
        first = block.draw(min(count, block.left))
        return first if first.size == count else _joined(first, self._drawn(count - first.size))

    def words(self, count: int) -> Array:
        """Return the next `count` words, as uint32."""
        return self.raw(count).astype(np.uint32, copy=False)

    def pairs(self, count: int) -> Array:
        """Return the next `count` pairs of words, as uint64: the first of two is the upper half."""
        left = self._ahead.left
        if count < _FEW or left % 2:
            return _paired(self.raw(2 * count).astype(np.uint64, copy=False))
        rest = _paired(self.raw(left))
        self._in_batch = (self._in_batch - 2 * (count - rest.size)) % _WORDS
        made: Array = self._words.integers(0, 1 << 64, count - rest.size, dtype=np.uint64)
        return _joined(rest, made) if rest.size else made

    def doubles(self, count: int) -> Array:
        """Return the next `count` numbers of [0, 1) with 53 bits, as float64."""
        found = self.ahead(2 * count)
        if found is None:
            return _unit_doubles(self.pairs(count))
        return found[0].made(found[1], 2 * count, "doubles", _doubles_of, group=2)

    def position(self) -> Any:
        """Return where the words come from, for `go_to`."""
        block, state = self._ahead, self._bits.state
        inside: Any = state["state"]
        if block.origin is None or block.left < inside["pos"]:
            inside["pos"] -= block.left
            return state
        bits = np.random.MT19937(0)
        bits.state = block.origin
        bits.random_raw(block.at, output=False)
        return bits.state

    def go_to(self, position: Any) -> None:
        """Go to where `position` was asked for."""
        inside = position["state"]
        self._place(inside["key"], int(inside["pos"]))

    def skip(self, count: int) -> None:
        """Go `count` words on."""
        near = min(count, self._ahead.left)
        self._ahead.at += near
        self._in_batch = (self._in_batch - (count - near)) % _WORDS
        self._bits.random_raw(count - near, output=False)

    # -- the state ---------------------------------------------------------------------------------

    def state(self, seed: int) -> bytes:
        """Return where the generator stands, beside the seed that it started from, in PyTorch's
        layout.
        """
        inside = self.position()["state"]
        words, position = inside["key"], inside["pos"]
        made = np.zeros((), _STATE)
        made["seed"], made["seeded"], made["words"] = seed, 1, words
        # The words are renewed when one is asked for and none is left; before the first one, the
        # seed's stand there.
        made["left"] = _WORDS + 1 - position
        made["next"] = position
        if position == _WORDS and np.array_equal(words, _seeded(seed)):
            made["next"] = 0
        if self.kept is not None:
            made["y"], made["kept"] = self.kept, 1
        return made.tobytes()

    @classmethod
    def of_state(cls, state: bytes) -> tuple[MersenneTwister, int]:
        """Return a generator that stands where a state says, and the seed that it started from.

        Raises
        ------
        RuntimeError
            If the bytes are no such state.
        """
        found = np.frombuffer(state, _STATE)[0]
        left, position = int(found["left"]), int(found["next"])
        fresh = left == 1 and position == 0
        if not found["seeded"] or not (fresh or (left >= 1 and left + position == _WORDS + 1)):
            raise RuntimeError(
                "Invalid mt19937 state: its numbers contradict each other. Give what get_state() "
                "of a generator on cpu returned."
            )
        made = cls(0)
        made._place(found["words"].astype(np.uint32), _WORDS if fresh else position)
        if found["kept"]:
            made.kept = float(found["y"])
        return made, int(found["seed"])

    def __deepcopy__(self, memo: Any) -> MersenneTwister:
        with self.lock:
            return self.of_state(self.state(0))[0]


def _joined(first: Array, then: Array) -> Array:
    """Return words, or pairs of them, and those behind them."""
    return np.concatenate((first.astype(then.dtype, copy=False), then))


def _paired(words: Array) -> Array:
    """Return pairs of words, which are uint64."""
    upper: Array = np.left_shift(words[::2], _UPPER)
    np.bitwise_or(upper, words[1::2], upper)
    return upper


def _unit_doubles(pairs: Array) -> Array:
    np.bitwise_and(pairs, _MASK, pairs)
    made: Array = pairs.view(_LONG).astype(_DOUBLE)  # signed ones convert faster
    np.multiply(made, _UNIT, made)
    return made


def _doubles_of(words: Array) -> Array:
    return _unit_doubles(_paired(words))


def _seeded(seed: int) -> Array:
    """Return the words that a seed stands for: those of NumPy's ``RandomState(seed)``."""
    state: Any = np.random.RandomState(seed & 0xFFFFFFFF).get_state(legacy=False)
    words: Array = state["state"]["key"]
    return words

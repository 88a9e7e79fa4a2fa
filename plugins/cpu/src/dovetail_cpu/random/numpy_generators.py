"""NumPy's generators, made by the name of their bit generator, and their states as bytes: always
as many of one bit generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LONGEST = 16  # bytes of an integer of a state


def new_numpy_generator(seed: int, bit_generator: str) -> np.random.Generator:
    """Return a generator of NumPy's, by the name that ``numpy.random`` has for its bit
    generator.
    """
    return np.random.Generator(getattr(np.random, bit_generator)(seed))


def state_of_generator(native: np.random.Generator, seed: int) -> bytes:
    """Return the seed, and where the generator stands."""
    return _number(seed) + b"".join(_bytes_of(native.bit_generator.state))


def generator_of_state(state: bytes, like: np.random.Generator) -> tuple[np.random.Generator, int]:
    """Return a generator that stands where `state` says, with the bit generator of `like`, and the
    seed.
    """
    made = new_numpy_generator(0, type(like.bit_generator).__name__)
    parts = memoryview(state)
    found, _ = _read(made.bit_generator.state, parts[_LONGEST:])
    made.bit_generator.state = found
    return made, int.from_bytes(parts[:_LONGEST], "little")


def _number(value: int) -> bytes:
    return value.to_bytes(_LONGEST, "little")


def _bytes_of(value: Any) -> list[bytes]:
    """Return the numbers in a state, a dict of dicts, names left out."""
    if isinstance(value, dict):
        return [part for each in value.values() for part in _bytes_of(each)]
    if isinstance(value, str):
        return []
    return [value.tobytes() if isinstance(value, np.ndarray) else _number(int(value))]


def _read(value: object, parts: memoryview) -> tuple[Any, memoryview]:
    """Return a state of the form of `value` from bytes, and the rest of them."""
    if isinstance(value, dict):
        made = {}
        for name, each in value.items():
            made[name], parts = _read(each, parts)
        return made, parts
    if isinstance(value, str):
        return value, parts
    if isinstance(value, np.ndarray):
        read = np.frombuffer(parts[: value.nbytes], value.dtype).reshape(value.shape).copy()
        return read, parts[value.nbytes :]
    return int.from_bytes(parts[:_LONGEST], "little"), parts[_LONGEST:]

"""Random number generators: one by default per device, and more on demand. The numbers are the backend's."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

from dovetail_kernel import Backend, all_backends

from .devices import as_device, backend_for

__all__ = ["Generator", "default_generator", "initial_seed", "manual_seed", "seed"]

_FIRST_SEED = 67280421310721
_default: dict[str, Generator] = {}


class Generator:
    """A source of random numbers on one device.

    Parameters
    ----------
    device
        Device type whose operators the generator serves; default: cpu.
    """

    __slots__ = ("_native", "_seed", "device")

    def __init__(self, device: Any = "cpu") -> None:
        self.device = as_device(device)
        self._seed = _FIRST_SEED
        self._native: Any = None

    @property
    def native(self) -> Any:
        """The backend's own generator (``arrays.new_generator(seed)``), made at first use; kernels draw from it."""
        if self._native is None:
            arrays: Any = backend_for(self.device).arrays
            self._native = arrays.new_generator(self._seed)
        return self._native

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`, and return the generator.

        Raises
        ------
        RuntimeError
            For a seed beyond 64 bits.
        """
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise RuntimeError(f"Overflow when unpacking long long: seed {seed} does not fit into 64 bits.")
        self._seed = seed % (1 << 64)
        self._native = None
        return self

    def initial_seed(self) -> int:
        """Return the seed that the generator last started from."""
        return self._seed

    def seed(self) -> int:
        """Start again from a seed that nobody can know, and return it."""
        return self.manual_seed(_unpredictable()).initial_seed()

    def __repr__(self) -> str:
        return f"<dovetail.Generator device='{self.device}' seed={self._seed}>"


def default_generator(backend: Backend | None = None) -> Generator:
    """Return the generator that operators of `backend` (default: cpu) use unless they are given one."""
    name = "cpu" if backend is None else backend.name
    generator = _default.get(name)
    if generator is None:
        generator = _default.setdefault(name, Generator(name))
        if name != "cpu" and "cpu" in _default:
            generator.manual_seed(_default["cpu"].initial_seed())
    return generator


def manual_seed(seed: int) -> Generator:
    """Start the generators of all devices again from `seed`, and return that of cpu.

    Raises
    ------
    ValueError, RuntimeError
        For a seed that is no 64-bit integer.
    """
    generator = default_generator().manual_seed(seed)
    for backend in all_backends():
        if backend.name in _default:
            _default[backend.name].manual_seed(generator.initial_seed())
    return generator


def initial_seed() -> int:
    """Return the seed that the default generator of cpu last started from."""
    return default_generator().initial_seed()


def seed() -> int:
    """Start the generators of all devices again from a seed that nobody can know, and return it."""
    return manual_seed(_unpredictable()).initial_seed()


def save_default_generators() -> Callable[[], None]:
    """Return a function that brings the generators of all devices back to where they are now."""
    default_generator()
    saved = {name: copy.deepcopy(generator.native) for name, generator in _default.items()}

    def restore() -> None:
        for name, native in saved.items():
            _default[name]._native = copy.deepcopy(native)

    return restore


def _unpredictable() -> int:
    return int.from_bytes(os.urandom(8), "little")

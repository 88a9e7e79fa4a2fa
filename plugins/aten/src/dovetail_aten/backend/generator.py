"""Random number generators: one by default per device, and more on demand. The numbers are the
backend's.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

from dovetail_kernel import Backend, TensorBase, all_backends, uint8, wrap

from .devices import as_device, backend_for, ready_backend

__all__ = [
    "Generator",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

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
        """The backend's own generator (``arrays.new_generator(seed)``), made at first use; kernels
        draw from it.
        """
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
            raise RuntimeError(
                f"Overflow when unpacking long long: seed {seed} does not fit into 64 bits."
            )
        self._seed = seed % (1 << 64)
        self._native = None
        return self

    def initial_seed(self) -> int:
        """Return the seed that the generator last started from."""
        return self._seed

    def seed(self) -> int:
        """Start again from an unpredictable seed, and return it."""
        return self.manual_seed(_unpredictable()).initial_seed()

    def get_state(self) -> Any:
        """Return where the generator stands, as a tensor of uint8 that `set_state` takes.

        Raises
        ------
        NotImplementedError
            If the backend's generators cannot tell.
        """
        arrays: Any = backend_for(self.device).arrays
        state = self._seed.to_bytes(8, "little") + arrays.generator_state(self.native)
        host = ready_backend("cpu")
        return wrap(host.arrays.asarray(list(state), host.arrays.native_dtypes[uint8]), host)

    def set_state(self, new_state: Any) -> Generator:
        """Go to where `get_state` found a generator, and return the generator.

        Raises
        ------
        TypeError
            If `new_state` is no uint8 tensor on cpu.
        RuntimeError
            If it is not the state of a generator for this device.
        """
        if not isinstance(new_state, TensorBase):
            raise TypeError(f"expected a dovetail.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not uint8 or not new_state.is_cpu:
            raise TypeError(
                "RNG state must be a dovetail.ByteTensor: give what get_state() returned."
            )
        elements: Any = new_state
        state = bytes(elements.tolist())
        arrays: Any = backend_for(self.device).arrays
        expected = 8 + len(arrays.generator_state(self.native))
        if len(state) != expected:
            raise RuntimeError(
                f"Expected a generator state of size {expected} for {self.device} but found the "
                "input RNG state size "
                f"to be {len(state)}. Give what get_state() of such a generator returned."
            )
        self._native = arrays.restored_generator(state[8:])
        self._seed = int.from_bytes(state[:8], "little")
        return self

    def clone_state(self) -> Generator:
        """Return another generator that stands where this one does."""
        return Generator(self.device).set_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_generator, (self.device, self.get_state())

    def __repr__(self) -> str:
        return f"<dovetail.Generator device='{self.device}' seed={self._seed}>"


def default_generator(backend: Backend | None = None) -> Generator:
    """Return the generator that operators of `backend` (default: cpu) use unless they are given
    one.
    """
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


def get_rng_state() -> Any:
    """Return where the default generator of cpu stands, for `set_rng_state`."""
    return default_generator().get_state()


def set_rng_state(new_state: Any) -> None:
    """Put the default generator of cpu where `get_rng_state` found it. Raises as
    `Generator.set_state`.
    """
    default_generator().set_state(new_state)


def initial_seed() -> int:
    """Return the seed that the default generator of cpu last started from."""
    return default_generator().initial_seed()


def seed() -> int:
    """Start the generators of all devices again from an unpredictable seed, and return it."""
    return manual_seed(_unpredictable()).initial_seed()


def save_default_generators() -> Callable[[], None]:
    """Return a function that brings the generators of all devices back to where they are now."""
    default_generator()
    # One that is not drawn from yet, of a device that may not be there, is no more than its seed.
    saved = {
        name: (generator._seed, copy.deepcopy(generator._native))
        for name, generator in _default.items()
    }

    def restore() -> None:
        for name, (seed, native) in saved.items():
            _default[name]._seed, _default[name]._native = seed, copy.deepcopy(native)

    return restore


def _unpredictable() -> int:
    return int.from_bytes(os.urandom(8), "little")


def _rebuild_generator(device: Any, state: Any) -> Generator:
    return Generator(device).set_state(state)

"""Random number generators: one by default per device, and more on demand. The numbers are the
backend's.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from operator import index
from typing import Any

from dovetail_kernel import Backend, DeviceLike, TensorBase, uint8, wrap

from .devices import as_device, backend_for, ready_backend

_FIRST_SEED = 67280421310721
_default: dict[str, Generator] = {}


class Generator:
    """A source of random numbers on one device.

    Parameters
    ----------
    device
        Device type whose operators the generator serves; default: cpu.
    bit_generator
        Name of the backend's bit generator. The default on the cpu, MT19937, draws PyTorch's
        numbers. PCG64, PCG64DXSM, SFC64 and Philox draw the numbers of ``numpy.random.Generator``,
        which is faster for large arrays.

    Raises
    ------
    RuntimeError
        If the device cannot be used.
    ValueError
        If the backend has no such bit generator.
    """

    __slots__ = ("__weakref__", "_bit_generator", "_native", "_seed", "device")

    def __init__(self, device: Any = "cpu", *, bit_generator: str | None = None) -> None:
        self.device = as_device(device)
        if self.device.type != "cpu":
            try:
                backend_for(self.device)
            except AssertionError as error:  # the type that PyTorch has for tensors
                raise RuntimeError(f"no generator for {self.device}: {error}") from error
        self._seed = _FIRST_SEED
        self._native: Any = None
        self._bit_generator: str | None = None
        if bit_generator is not None:
            self.bit_generator = bit_generator

    @property
    def native(self) -> Any:
        """The backend's own generator (``arrays.new_generator(seed)``), created on first use;
        kernels draw from it.
        """
        if self._native is None:
            arrays: Any = backend_for(self.device).arrays
            named = () if self._bit_generator is None else (self._bit_generator,)
            self._native = arrays.new_generator(self._seed, *named)
        return self._native

    @property
    def bit_generator(self) -> str | None:
        """The name of the bit generator; None if the backend has only one. Assigning another name
        restarts from the initial seed; errors are those of the constructor.
        """
        known = backend_for(self.device).arrays.bit_generators
        return self._bit_generator or (known[0] if known else None)

    @bit_generator.setter
    def bit_generator(self, name: str) -> None:
        known = backend_for(self.device).arrays.bit_generators
        if name not in known:
            raise ValueError(
                f"generators for {self.device} have no bit generator {name!r}. "
                + (f"Use one of {', '.join(known)}." if known else "Leave it out.")
            )
        self._bit_generator, self._native = name, None

    def manual_seed(self, seed: int) -> Generator:
        """Restart from `seed`, and return the generator.

        Raises
        ------
        RuntimeError
            For a value that is not an integer.
        ValueError
            For a seed of more than 64 bits.
        """
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(
                f"manual_seed expected a long, but got {type(seed).__name__}. Give an integer."
            )
        seed = index(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(
                f"Overflow when unpacking long long: seed {seed} does not fit into 64 bits."
            )
        self._seed = seed % (1 << 64)
        self._native = None
        return self

    def initial_seed(self) -> int:
        """Return the seed from which the generator last started."""
        return self._seed

    def seed(self) -> int:
        """Restart from an unpredictable seed, and return the seed."""
        return self.manual_seed(_unpredictable()).initial_seed()

    def get_state(self) -> Any:
        """Return the state of the generator as a uint8 tensor for `set_state`.

        Raises
        ------
        NotImplementedError
            If the backend's generators do not expose their state.
        """
        arrays: Any = backend_for(self.device).arrays
        state = arrays.generator_state(self.native, self._seed)
        host: Any = ready_backend("cpu")
        return wrap(host.arrays.bytes_as_array(state), host)

    def set_state(self, new_state: object) -> Generator:
        """Restore a state from `get_state`, and return the generator.

        Raises
        ------
        TypeError
            If `new_state` is not a uint8 tensor on the cpu.
        RuntimeError
            If it is not the state of a generator for this device.
        """
        if not isinstance(new_state, TensorBase):
            raise TypeError(f"expected a dovetail.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not uint8 or not new_state.is_cpu:
            raise TypeError(
                "RNG state must be a dovetail.ByteTensor: give what get_state() returned."
            )
        host: Any = ready_backend("cpu")
        state = host.arrays.array_as_bytes(new_state.array)
        arrays: Any = backend_for(self.device).arrays
        expected = getattr(self.native, "state_size", 0)
        if not expected:
            expected = len(arrays.generator_state(self.native, self._seed))
        if len(state) != expected:
            raise RuntimeError(
                f"Expected a generator state of size {expected} for {self.device} but found the "
                f"input RNG state size to be {len(state)}. Give what get_state() of such a "
                "generator returned."
            )
        self._native, self._seed = arrays.restored_generator(state, self.native)
        return self

    def clone_state(self) -> Generator:
        """Return a new generator with the same state."""
        made = Generator(self.device, bit_generator=self._bit_generator)
        return made.set_state(self.get_state())

    def graphsafe_get_state(self) -> Any:
        """Raise NotImplementedError: graphs of device operations are not captured.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "graphsafe_get_state is not supported in this Generator. Use clone_state()."
        )

    def graphsafe_set_state(self, state: object) -> Any:
        """Raise NotImplementedError, as `graphsafe_get_state` does."""
        raise NotImplementedError(
            "graphsafe_set_state is not supported in this Generator. Use set_state()."
        )

    def get_offset(self) -> int:
        """Return the number of draws since the seed.

        Raises
        ------
        RuntimeError
            If the generator has a state instead of an offset, as on the cpu.
        """
        if not hasattr(self.native, "offset"):
            raise RuntimeError("CPU Generator does not use offset. Use get_state().")
        return int(self.native.offset)

    def set_offset(self, offset: int) -> Generator:
        """Set the number of draws since the seed. Raises the errors of `get_offset`."""
        if not hasattr(self.native, "offset"):
            raise RuntimeError("CPU Generator does not use offset. Use set_state().")
        self.native.offset = index(offset)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_generator, (self.device, self.get_state(), self._bit_generator)

    def __repr__(self) -> str:
        return f"<dovetail.Generator device='{self.device}' seed={self._seed}>"


def default_generator(backend: Backend | None = None, index: int = 0) -> Generator:
    """Return the default generator of the operators of `backend` (default: cpu); a backend may use
    one for each device.
    """
    name = "cpu" if backend is None else backend.name
    if index:
        name = f"{name}:{index}"
    generator = _default.get(name)
    if generator is None:
        first = _unpredictable() if name == "cpu" else default_generator().initial_seed()
        made = Generator()
        made.device = as_device(name)  # without a look at it: a seed may be set where it is absent
        generator = _default.setdefault(name, made.manual_seed(first))
    return generator


def manual_seed(seed: int) -> Generator:
    """Restart the generators of all devices from `seed`, and return the generator of the cpu.

    Raises
    ------
    ValueError, RuntimeError
        As `Generator.manual_seed`.
    """
    generator = default_generator().manual_seed(int(seed))
    for each in list(_default.values()):
        each.manual_seed(generator.initial_seed())
    return generator


def get_rng_state() -> Any:
    """Return the state of the default generator of the cpu, for `set_rng_state`."""
    return default_generator().get_state()


def set_rng_state(new_state: object) -> None:
    """Restore the state of the default generator of the cpu from `get_rng_state`. Raises the errors
    of `Generator.set_state`.
    """
    default_generator().set_state(new_state)


def initial_seed() -> int:
    """Return the seed from which the default generator of the cpu last started."""
    return default_generator().initial_seed()


def seed() -> int:
    """Restart the generators of all devices from an unpredictable seed, and return the seed."""
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


def rebuild_generator(
    device: DeviceLike | None, state: object, bit_generator: str | None = None
) -> Generator:
    return Generator(device, bit_generator=bit_generator).set_state(state)


_rebuild_generator = rebuild_generator  # as pickles of 0.1.0 have it

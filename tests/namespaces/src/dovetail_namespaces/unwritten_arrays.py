"""Arrays that cannot be written, and show no other's memory, as the core and the array kernels see
them; what their library lacks is computed in host memory.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from dovetail.backends import NamespaceArrays
from dovetail_kernel import backend

__all__ = ["HostGenerator", "UnwrittenArrays", "in_host_memory"]


def in_host_memory(function: Callable[..., Any], arrays: UnwrittenArrays) -> Callable[..., Any]:
    """Return a function of NumPy's arrays as one of a backend's."""

    def down(value: Any) -> Any:
        if isinstance(value, arrays.array_types):
            return arrays.to_host(value)
        if isinstance(value, tuple | list):
            return type(value)(map(down, value))
        return value

    def up(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            return arrays.asarray(value)
        if isinstance(value, tuple | list):
            return tuple(map(up, value))
        # SciPy finds functions of LAPACK, which write to what is no array of NumPy's.
        is_found = callable(value) and not isinstance(value, type)
        return in_host_memory(value, arrays) if is_found else value

    def compute(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return up(function(*down(args), **{name: down(each) for name, each in kwargs.items()}))

    return compute


class UnwrittenArrays(NamespaceArrays):
    """Arrays that cannot be written: none is a view, each is contiguous and has no address."""

    mutable_arrays = False

    def wrap_foreign(self, array: Any) -> Any:
        """Return `array`, which cannot be written."""
        return array

    # -- views -------------------------------------------------------------------------------------

    def data_ptr(self, array: Any) -> int:
        """Return 0: what has an address may be written there."""
        return 0

    def is_contiguous(self, array: Any) -> bool:
        """Return True."""
        return True

    def contiguous(self, array: Any) -> Any:
        """Return `array`."""
        return array

    def may_overlap(self, a: Any, b: Any) -> bool:
        """Return whether the two are one."""
        return a is b

    def expand(self, array: Any, shape: Sequence[int]) -> Any:
        """Return `array` broadcast to `shape`."""
        return self.xp.broadcast_to(array, tuple(shape))

    def as_strided(
        self, array: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int
    ) -> Any:
        """Return the elements at these places of the array as one dimension."""
        places = np.full(tuple(size), storage_offset, np.int64)
        for dim, (length, step) in enumerate(zip(size, stride, strict=True)):
            places += (np.arange(length) * step).reshape((-1,) + (1,) * (len(size) - dim - 1))
        taken = self.xp.take(array.reshape((-1,)), self.asarray(places.reshape(-1)), axis=0)
        return taken.reshape(tuple(size))

    # -- functions that namespaces lack ------------------------------------------------------------

    def scipy(self, function: str) -> Any:
        """Return a function of SciPy, computed in host memory."""
        module, _, name = function.rpartition(".")
        found = getattr(import_module(f"scipy.{module}"), name, None)
        return None if found is None else in_host_memory(found, self)

    # -- random numbers ----------------------------------------------------------------------------

    def new_generator(self, seed: int) -> Any:
        """Return a source of random numbers that depends on `seed` alone."""
        return HostGenerator(self, seed)

    def generator_state(self, native: Any, seed: int) -> bytes:
        """Return the seed that the source started from, and how often it was drawn from."""
        return struct.pack("<QQ", native.seed, native.draws)

    def restored_generator(self, state: bytes, like: Any) -> tuple[Any, int]:
        """Return a source that stands where `generator_state` says, and its seed."""
        made = HostGenerator(self, *struct.unpack("<QQ", state))
        return made, made.seed

    def integers(self, low: int, high: int, shape: Sequence[int], generator: Any) -> Any:
        """Return int64 numbers in [low, high)."""
        return self.source(generator).integers(low, high, size=tuple(shape), dtype=np.int64)


class HostGenerator:
    """A source of random numbers that are drawn in host memory, each time from a state of its
    own.
    """

    def __init__(self, arrays: UnwrittenArrays, seed: int, draws: int = 0) -> None:
        self._arrays, self.seed, self.draws = arrays, seed, draws

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._arrays.device_type, self.seed, self.draws)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        self.draws += 1
        draw = getattr(np.random.Generator(np.random.Philox([self.seed, self.draws])), name)

        def drawn(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
            if dtype is None:
                return self._arrays.asarray(draw(*args, **kwargs))
            known = self._arrays.dtypes.get(dtype)
            host = np.dtype(dtype if known is None else known.name)
            return self._arrays.asarray(np.asarray(draw(*args, dtype=host, **kwargs)))

        return drawn


def _restored(device_type: str, seed: int, draws: int) -> HostGenerator:
    arrays: Any = backend(device_type).arrays
    return HostGenerator(arrays, seed, draws)

"""`CudaRandom`: random numbers of CUDA arrays, one stream for each device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from dovetail_aten.backend import default_generator
from dovetail_kernel import backend
from dovetail_kernel.typing import NativeDtype

from .kernel_support.philox import Philox
from .memory import CudaMemory


class CudaRandom(CudaMemory):
    """What the array kernels draw."""

    def new_generator(self, seed: int) -> Philox:
        """Return a stream of random numbers that depends on `seed` alone."""
        return Philox(seed)

    def generator_state(self, native: Philox, seed: int) -> bytes:
        """Return where a stream stands: its seed and its offset, in 16 bytes."""
        return native.state()

    def restored_generator(self, state: bytes, like: Philox) -> tuple[Philox, int]:
        """Return a stream that stands where `generator_state` says, and its seed."""
        made = Philox.of_state(state)
        return made, made.seed

    def source(self, generator: object) -> Any:
        """Return the stream of a generator, by default that of the current device. Raises the
        errors of `NamespaceArrays.source`.
        """
        if generator is None:
            return default_generator(backend(self.device_type), cupy.cuda.Device().id).native
        return super().source(generator)

    def uniform(self, shape: Sequence[int], native_dtype: NativeDtype, generator: object) -> Any:
        """Return numbers of [0, 1), which the dtype can represent."""
        return self.source(generator).uniform(cupy.empty(tuple(shape), native_dtype))

    def normal(self, shape: Sequence[int], native_dtype: NativeDtype, generator: object) -> Any:
        """Return standard normal numbers."""
        return self.source(generator).normal(cupy.empty(tuple(shape), native_dtype))

    def integers(self, low: int, high: int, shape: Sequence[int], generator: object) -> Any:
        """Return int64 numbers of [low, high)."""
        return self.source(generator).integers(low, high, cupy.empty(tuple(shape), np.int64))

    def permutation(self, n: int, generator: object) -> Any:
        """Return the int64 numbers below `n` in the order of random numbers of 64 bits."""
        return cupy.argsort(self.integers(-(1 << 63), 1 << 63, (n,), generator))

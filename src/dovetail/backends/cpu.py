"""Settings and properties of the cpu: the allocation of large arrays, and the instruction set.

::

    import dovetail

    dovetail.backends.cpu.tune_malloc()
"""

from typing import Any

from dovetail_cpu.memory import TunedMalloc, tune_malloc

__all__ = ["TunedMalloc", "get_cpu_capability", "tune_malloc"]


def get_cpu_capability() -> str:
    """Return the widest vector instructions of the processor: ``"AVX512"``, ``"AVX2"``, or
    ``"DEFAULT"`` for others.
    """
    import numpy as np

    simd: Any = np.show_config(mode="dicts")
    features = [*simd["SIMD Extensions"]["baseline"], *simd["SIMD Extensions"]["found"]]
    if any([name in ("AVX512_SKX", "X86_V4") for name in features]):
        return "AVX512"
    return "AVX2" if any([name in ("AVX2", "X86_V3") for name in features]) else "DEFAULT"

"""What programs set of the cpu: how the allocator of the process treats large arrays.

::

    import dovetail

    dovetail.backends.cpu.tune_malloc()
"""

from dovetail_cpu.malloc import TunedMalloc, tune_malloc

__all__ = ["TunedMalloc", "tune_malloc"]

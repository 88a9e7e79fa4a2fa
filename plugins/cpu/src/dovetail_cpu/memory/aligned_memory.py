"""Memory of large results that begins with a line of the cache.

A pass over arrays that fit into the cache takes twice as long where what it writes begins between
two lines, and glibc's memory begins at multiples of 16 bytes. NumPy takes an allocator from a
program (NEP 49), of functions that get a context of the allocator's own first. With the alignment
for a context, glibc's `memalign` is such a function; what frees its memory is CPython's raw
allocator, whose functions get a context too, and heed none. So nothing is written in C. A context
variable of NumPy's has the allocator in force: it is this one inside of `aligned`, for the calling
thread.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from importlib import import_module
from typing import Any, Final

import numpy

from dovetail_aten.kernel_support import Function

from ..silence import nameless

LARGE: Final = 1 << 14
"""Elements from which it pays: of fewer NumPy keeps memory, or glibc does, ready to be used."""
_LINE: Final = 64
"""Bytes of a line of the cache, and of the widest vector."""
_SET_HANDLER: Final = 304
"""Where NumPy's table of functions for C has `PyDataMem_SetHandler`; places never change."""


class _Allocator(ctypes.Structure):
    """`PyDataMemAllocator` of NumPy, and CPython's `PyMemAllocatorEx`."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class _Handler(ctypes.Structure):
    """`PyDataMem_Handler` of NumPy."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("allocator", _Allocator),
    )


def _raw_allocator() -> _Allocator | None:
    """Return the allocator of CPython's that calls glibc's; None where something else calls it, as
    `python -X dev` does, or the library is another one.
    """
    if platform.python_implementation() != "CPython" or platform.libc_ver()[0] != "glibc":
        return None
    raw = _Allocator()
    ctypes.pythonapi.PyMem_GetAllocator(ctypes.c_int(0), ctypes.byref(raw))
    return None if raw.context else raw


def _handler() -> Any | None:
    """Return NumPy's capsule of the allocator, which lives as long as the process: arrays free
    their memory by it after modules are gone.
    """
    raw = _raw_allocator()
    if raw is None:
        return None
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    memalign = ctypes.cast(library.memalign, ctypes.c_void_p).value
    kept = _Handler.from_address(library.malloc(ctypes.c_size_t(ctypes.sizeof(_Handler))))
    kept.name, kept.version = b"dovetail_aligned", 1
    kept.allocator = _Allocator(_LINE, memalign, raw.calloc, raw.realloc, raw.free)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new_capsule(ctypes.addressof(kept), b"mem_handler", None)


def _variable(handler: object) -> ContextVar[Any] | None:
    """Return NumPy's context variable of the allocator in force; None where its table of functions
    is not where it was in NumPy 2.1 to 2.5.
    """
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = getattr(import_module("numpy._core._multiarray_umath"), "_ARRAY_API", None)
    if functions is None:
        return None
    table = ctypes.cast(pointer(functions, None), ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])

    def find() -> ContextVar[Any] | None:
        set_handler(handler)
        found = [each for each, value in copy_context().items() if value is handler]
        return found[0] if found else None

    return copy_context().run(find)


def _found() -> tuple[ContextVar[Any], Any] | None:
    handler = _handler()
    variable = None if handler is None else _variable(handler)
    return None if variable is None else (variable, handler)


_FOUND: Final = _found()


def aligned(function: Function) -> Function:
    """Return `function` with all memory that NumPy takes for it aligned; the function itself where
    NumPy's allocator cannot be chosen.
    """
    if _FOUND is None:
        return function
    variable, handler = _FOUND
    enter, leave = variable.set, variable.reset

    @nameless
    def compute(*args: Any, **kwargs: Any) -> Any:
        before = enter(handler)
        try:
            return function(*args, **kwargs)
        finally:
            leave(before)

    compute.__name__ = getattr(function, "__name__", compute.__name__)
    return compute


aligned_empty: Final[Callable[..., Any]] = aligned(numpy.empty)
"""NumPy's `empty`."""

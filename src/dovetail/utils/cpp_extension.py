"""Names of ``torch.utils.cpp_extension``, so that programs can import them. C++ extensions are not
supported; functions that would build one raise NotImplementedError.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

__all__ = [
    "CUDA_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
]

CUDA_HOME: Final[str | None] = None
"""None: nothing is compiled for CUDA."""

ROCM_HOME: Final[str | None] = None
IS_HIP_EXTENSION: Final = False

_REASON: Final = (
    "dovetail.utils.cpp_extension.{} would build an extension against PyTorch's C++ library, which "
    "is not here. Write the kernel in Python: dovetail.library.custom_op takes functions of arrays "
    "(NumPy, Numba, CuPy)."
)


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(_REASON.format(name))


def is_ninja_available() -> bool:
    """Return False: nothing is built."""
    return False


def load(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError, as all functions and classes of this module do."""
    _refuse("load")


def load_inline(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _refuse("load_inline")


def include_paths(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there are no headers."""
    _refuse("include_paths")


def library_paths(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there are no libraries."""
    _refuse("library_paths")


def CppExtension(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _refuse("CppExtension")


def CUDAExtension(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _refuse("CUDAExtension")


class BuildExtension:
    """Class whose constructor raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, *args: Any, **options: Any) -> NoReturn:
        """Raise NotImplementedError."""
        _refuse("BuildExtension.with_options")

"""The Array API standard, version 2025.12, for `Tensor`: ``x.__array_namespace__()``.

Functions have the standard's names, arguments, dtypes and special cases, where `dovetail` itself
follows PyTorch. For example, 0-dimensional arrays promote like other arrays, sums of unsigned
integers are unsigned, and uint16, uint32 and uint64 are supported. Methods and operators of
`Tensor` are PyTorch's in both.
"""

from dovetail_kernel import Device as Device

from . import fft as fft
from . import linalg as linalg
from .creation import *  # noqa: F403 - the functions of the standard, by module
from .data_types import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .linalg import matmul as matmul
from .linalg import matrix_transpose as matrix_transpose
from .linalg import tensordot as tensordot
from .linalg import vecdot as vecdot
from .manipulation import *  # noqa: F403
from .namespace_info import NamespaceInfo
from .searching import *  # noqa: F403
from .statistics import *  # noqa: F403

__array_api_version__ = "2025.12"


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """Return what the namespace says of itself."""
    return NamespaceInfo()

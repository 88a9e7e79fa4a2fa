"""Linear algebra, as ``torch.linalg``: factorizations, spectra, inverses, solutions and norms of
matrices and of batches of matrices.

All functions take batches in leading dimensions and compute in float32, float64, complex64 and
complex128; on the CPU, LAPACK does the work. A matrix that cannot be factored, inverted or solved
with raises `LinAlgError`; functions whose names end in ``_ex`` return LAPACK's info for each matrix
instead.
"""

import typing as _typing

from dovetail_aten import linalg as _linalg
from dovetail_aten.linalg import *  # noqa: F403

from ..names.missing import names_of as _names_of

__all__: list[str] = []
__all__ += _linalg.__all__

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, prefix="linalg_")

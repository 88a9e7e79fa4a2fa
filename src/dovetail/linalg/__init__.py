"""Linear algebra, as ``torch.linalg``: factorizations, spectra, inverses, solutions and norms of
matrices and of batches of matrices.

All functions take batches in leading dimensions and compute in float32, float64, complex64 and
complex128; on the CPU, LAPACK does the work. A matrix that cannot be factored, inverted or solved
with raises `LinAlgError`; functions whose names end in ``_ex`` return LAPACK's info for each matrix
instead.
"""

from dovetail_aten import linalg as _linalg
from dovetail_aten.linalg import *  # noqa: F403

from ..names.missing import serve_names as _serve_names

__all__: list[str] = []
__all__ += _linalg.__all__

_serve_names(__name__, prefix="linalg_")

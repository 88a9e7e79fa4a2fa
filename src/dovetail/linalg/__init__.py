"""Linear algebra, as ``torch.linalg``: factorizations, spectra, inverses, solutions and norms of
matrices and of batches of matrices.

All functions take batches in leading dimensions and compute in float32, float64, complex64 and
complex128; on the CPU, LAPACK does the work. A matrix that cannot be factored, inverted or solved
with raises `LinAlgError`; functions whose names end in ``_ex`` return LAPACK's info for each matrix
instead.
"""

from dovetail_aten.linalg import LinAlgError
from dovetail_aten.linalg import linalg_cholesky as cholesky
from dovetail_aten.linalg import linalg_cholesky_ex as cholesky_ex
from dovetail_aten.linalg import linalg_cond as cond
from dovetail_aten.linalg import linalg_cross as cross
from dovetail_aten.linalg import linalg_det as det
from dovetail_aten.linalg import linalg_diagonal as diagonal
from dovetail_aten.linalg import linalg_eig as eig
from dovetail_aten.linalg import linalg_eigh as eigh
from dovetail_aten.linalg import linalg_eigvals as eigvals
from dovetail_aten.linalg import linalg_eigvalsh as eigvalsh
from dovetail_aten.linalg import linalg_householder_product as householder_product
from dovetail_aten.linalg import linalg_inv as inv
from dovetail_aten.linalg import linalg_inv_ex as inv_ex
from dovetail_aten.linalg import linalg_ldl_factor as ldl_factor
from dovetail_aten.linalg import linalg_ldl_factor_ex as ldl_factor_ex
from dovetail_aten.linalg import linalg_ldl_solve as ldl_solve
from dovetail_aten.linalg import linalg_lstsq as lstsq
from dovetail_aten.linalg import linalg_lu as lu
from dovetail_aten.linalg import linalg_lu_factor as lu_factor
from dovetail_aten.linalg import linalg_lu_factor_ex as lu_factor_ex
from dovetail_aten.linalg import linalg_lu_solve as lu_solve
from dovetail_aten.linalg import linalg_matmul as matmul
from dovetail_aten.linalg import linalg_matrix_exp as matrix_exp
from dovetail_aten.linalg import linalg_matrix_norm as matrix_norm
from dovetail_aten.linalg import linalg_matrix_power as matrix_power
from dovetail_aten.linalg import linalg_matrix_rank as matrix_rank
from dovetail_aten.linalg import linalg_multi_dot as multi_dot
from dovetail_aten.linalg import linalg_norm as norm
from dovetail_aten.linalg import linalg_pinv as pinv
from dovetail_aten.linalg import linalg_qr as qr
from dovetail_aten.linalg import linalg_slogdet as slogdet
from dovetail_aten.linalg import linalg_solve as solve
from dovetail_aten.linalg import linalg_solve_ex as solve_ex
from dovetail_aten.linalg import linalg_solve_triangular as solve_triangular
from dovetail_aten.linalg import linalg_svd as svd
from dovetail_aten.linalg import linalg_svdvals as svdvals
from dovetail_aten.linalg import linalg_tensorinv as tensorinv
from dovetail_aten.linalg import linalg_tensorsolve as tensorsolve
from dovetail_aten.linalg import linalg_vander as vander
from dovetail_aten.linalg import linalg_vecdot as vecdot
from dovetail_aten.linalg import linalg_vector_norm as vector_norm

from .descriptions import DESCRIPTIONS as _DESCRIPTIONS

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

for _name, _text in _DESCRIPTIONS.items():
    globals()[_name].__doc__ = _text

"""NumPy's products, its linear algebra and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..._generated import functions as aten
from ..functions.einsum import einsum
from ..functions.variadic_functions import tensordot
from .operands import common


def _dot(a: Any, b: Any) -> Any:
    a, b = common(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return aten.matmul(a, b) if b.ndim <= 2 else aten.tensordot(a, b, [-1], [-2])


def _inner(a: Any, b: Any, /) -> Any:
    a, b = common(a, b)
    return a * b if a.ndim == 0 or b.ndim == 0 else aten.inner(a, b)


def _outer(a: Any, b: Any) -> Any:
    a, b = common(a, b)
    return aten.outer(a.reshape(-1), b.reshape(-1))


def _vdot(a: Any, b: Any, /) -> Any:
    a, b = common(a, b)
    return aten.vdot(a.reshape(-1), b.reshape(-1))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = common(a, b)
    return tensordot(a, b, axes)


def _einsum(*operands: Any, optimize: Any = False) -> Any:
    if isinstance(operands[0], str):
        return einsum(operands[0], *common(*operands[1:]))
    return einsum(*operands)


def _cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = common(a, b)
    a, b = aten.movedim(a, axisa, -1), aten.movedim(b, axisb, -1)
    a, b = aten.broadcast_tensors([a, b])
    return aten.movedim(aten.linalg_cross(a, b, dim=-1), -1, axisc)


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = common(a, v)
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"object too deep for desired array: {a.ndim} and {v.ndim} dimensions.")
    if len(v) > len(a):
        a, v = v, a
    margin = {"full": len(v) - 1, "same": len(v) // 2, "valid": 0}[mode]
    made = aten.conv1d(a[None, None], aten.flip(v, (0,))[None, None], padding=margin)[0, 0]
    return made[: len(a)] if mode == "same" else made


def _polyval(p: Any, x: Any) -> Any:
    made: Any = 0
    p, x = common(p, x)
    for each in p:
        made = made * x + each
    return made


def _solve(a: Any, b: Any) -> Any:
    a, b = common(a, b)
    if b.ndim == 1:
        return aten.linalg_solve(a, b)
    # A matrix, for all of `a`: operators may take it for vectors.
    return aten.linalg_solve(a, b if b.ndim >= a.ndim else b.expand(*a.shape[:-2], *b.shape[-2:]))


def _svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if hermitian:
        raise TypeError("np.linalg.svd of a tensor that requires grad: leave hermitian out.")
    return aten.linalg_svd(a, full_matrices) if compute_uv else aten.linalg_svdvals(a)


def _pinv(a: Any, rcond: object = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    rtol = rcond if rtol is None else rtol
    return aten.linalg_pinv(a, rtol=1e-15 if rtol is None else rtol, hermitian=hermitian)


def _eig(a: Any) -> Any:
    made: Any = aten.linalg_eig(a)
    if a.is_complex() or bool(aten.imag(made[0].detach()).any()):
        return made
    return type(made)((aten.real(made[0]), aten.real(made[1])))  # as NumPy: all are real


def _transform(name: str, several: bool) -> Callable[..., Any]:
    """Return a Fourier transform with NumPy's parameters, along one axis or several ones."""
    function = getattr(aten, f"fft_{name}")
    default = (-2, -1) if name.endswith("2") else None

    def over_axes(a: Any, s: Any = None, axes: Any = default, norm: str | None = None) -> Any:
        return function(a, s, axes, norm)

    def over_axis(a: object, n: Any = None, axis: int = -1, norm: str | None = None) -> Any:
        return function(a, n, axis, norm)

    return over_axes if several else over_axis


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "convolve": _convolve,
    "cross": _cross,
    "dot": _dot,
    "einsum": _einsum,
    "inner": _inner,
    "kron": lambda a, b: aten.kron(*common(a, b)),
    "linalg.cholesky": lambda a, /, *, upper=False: aten.linalg_cholesky(a, upper=upper),
    "linalg.cond": lambda x, p=None: aten.linalg_cond(x, p),
    "linalg.cross": lambda x1, x2, /, *, axis=-1: _cross(x1, x2, axis=axis),
    "linalg.det": aten.linalg_det,
    "linalg.eig": _eig,
    "linalg.eigvals": lambda a: _eig(a)[0],
    "linalg.eigh": lambda a, UPLO="L": aten.linalg_eigh(a, UPLO),
    "linalg.eigvalsh": lambda a, UPLO="L": aten.linalg_eigvalsh(a, UPLO),
    "linalg.inv": aten.linalg_inv,
    "linalg.matmul": lambda x1, x2, /: aten.matmul(*common(x1, x2)),
    "linalg.matrix_norm": lambda x, /, *, keepdims=False, ord="fro": aten.linalg_matrix_norm(
        x, ord, (-2, -1), keepdims
    ),
    "linalg.matrix_power": aten.linalg_matrix_power,
    "linalg.multi_dot": lambda arrays: aten.linalg_multi_dot(common(*arrays)),
    "linalg.norm": lambda x, ord=None, axis=None, keepdims=False: aten.linalg_norm(
        x, ord, axis, keepdims
    ),
    "linalg.outer": lambda x1, x2, /: aten.outer(*common(x1, x2)),
    "linalg.pinv": _pinv,
    "linalg.qr": lambda a, mode="reduced": aten.linalg_qr(a, mode),
    "linalg.slogdet": aten.linalg_slogdet,
    "linalg.solve": _solve,
    "linalg.svd": _svd,
    "linalg.svdvals": lambda x, /: aten.linalg_svdvals(x),
    "linalg.tensordot": lambda x1, x2, /, *, axes=2: _tensordot(x1, x2, axes),
    "linalg.tensorinv": lambda a, ind=2: aten.linalg_tensorinv(a, ind),
    "linalg.vecdot": lambda x1, x2, /, *, axis=-1: aten.linalg_vecdot(*common(x1, x2), dim=axis),
    "linalg.vector_norm": lambda x, /, *, axis=None, keepdims=False, ord=2: aten.linalg_vector_norm(
        x, ord, axis, keepdims
    ),
    "outer": _outer,
    "polyval": _polyval,
    "tensordot": _tensordot,
    "vdot": _vdot,
    **{
        f"fft.{name}": _transform(name, name[-1] in "2n")
        for name in (
            *("fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft"),
            *("irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn"),
        )
    },
}
"""Functions by their names in NumPy, with its parameters."""

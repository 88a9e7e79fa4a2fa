"""Functions of CuPy that are calls of cuSOLVER, cuFFT and their like: computed by NumPy and SciPy.

The build lets `cupy.linalg`, `cupy.fft` and `cupyx.scipy.linalg` take them at their ends. In strict
mode they stay CuPy's, which then says that the library is not there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import cuda_emulator
import numpy as np

OF_LINALG = (
    "cholesky", "qr", "svd", "eigh", "eigvalsh", "eig", "eigvals", "solve", "inv", "pinv", "lstsq",
    "det", "slogdet", "matrix_rank", "tensorsolve", "tensorinv",
)  # fmt: skip
OF_FFT = tuple(f"{kind}fft{dims}" for kind in ("", "i", "r", "ir") for dims in ("", "2", "n"))
OF_SCIPY = ("lu", "lu_factor", "lu_solve", "expm")


def is_one_matrix(a: Any, *others: Any, **named: Any) -> bool:
    """Return whether an argument is no batch of matrices."""
    return bool(a.ndim <= 2)


def are_as_many(a: Any, b: Any) -> bool:
    """Return whether there are as many right-hand sides as matrices: CuPy broadcasts none."""
    return bool(b.ndim <= 1 or a.shape[:-1] == b.shape[:-1])


TAKEN = {"solve": are_as_many} | dict.fromkeys(
    ("expm", "lstsq", "lu", "lu_factor", "lu_solve"), is_one_matrix
)
"""What CuPy's functions take, where that is less than NumPy and SciPy take."""


def on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy for arrays of CuPy, which takes what CuPy's takes."""
    import cupy
    import cupyx

    def there(value: Any) -> Any:
        return cupy.asnumpy(value) if isinstance(value, cupy.ndarray) else value

    def back(value: Any) -> Any:
        if isinstance(value, tuple):
            made = [back(each) for each in value]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        is_array = isinstance(value, np.ndarray | np.generic)
        return cupy.asarray(value) if is_array else value

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        name = function.__name__
        if name in TAKEN and not TAKEN[name](*args, **kwargs):
            raise ValueError(f"CuPy's {name} takes no such shapes")
        named = {name: there(value) for name, value in kwargs.items()}
        given = [there(value) for value in args]
        try:
            return back(function(*given, **named))
        except np.linalg.LinAlgError:
            if cupyx.geterr()["linalg"] == "raise":
                raise
            return back(without_value(function(np.eye(given[0].shape[-1]), *given[1:], **named)))

    return run


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = False,
) -> Any:
    """Return `x` of ``a @ x = b`` by BLAS, as CuPy has it of cuBLAS: unlike SciPy's function it
    takes any numbers, and zeros on the diagonal.
    """
    from scipy.linalg import get_blas_funcs

    columns = b.reshape(len(b), -1)
    (trsm,) = get_blas_funcs(["trsm"], [a, columns])
    turned = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    return trsm(1, a, columns, lower=lower, trans_a=turned, diag=unit_diagonal).reshape(b.shape)


def without_value(results: Any) -> Any:
    """Return results with NaN in the place of every number: unless told otherwise, CuPy goes on
    with what cuSOLVER leaves of a matrix that fails.
    """
    if isinstance(results, tuple):
        return tuple(without_value(each) for each in results)
    return np.full_like(results, np.nan)


refusals: list[str] = []
"""What the compiler said of each kernel that it refused."""


def prepare() -> None:
    """Note what is compiled. Where blocks are to be exact, take every array from the driver: CuPy's
    pool would put several into one, and keep what is freed.
    """
    note_sources()
    if os.environ.get("EMULATOR_EXACT"):
        import cupy

        cupy.cuda.set_allocator(None)


def note_sources() -> None:
    """Keep what CuPy asks the compiler for, in the folder `sources` (see refused.py), and note what
    is refused, which a caller may catch.
    """
    compiler = import_module("cupy.cuda.compiler")
    compiled = compiler._compile_with_cache_cuda
    folder = Path(os.environ["EMULATOR_HOME"], "sources")

    @wraps(compiled)
    def noting(*given: Any, **named: Any) -> Any:
        wanted = json.dumps([given, named])
        kept = folder / f"{hashlib.sha1(wanted.encode()).hexdigest()}.json"
        if not kept.exists():
            folder.mkdir(exist_ok=True)
            whole = kept.with_suffix(f".{os.getpid()}")
            whole.write_text(wanted)
            whole.replace(kept)
        try:
            return compiled(*given, **named)
        except compiler.CompileException as error:
            refusals.append(str(error))
            raise

    compiler._compile_with_cache_cuda = noting


def replace(names: dict[str, Any], module: str) -> None:
    """Put the functions of `module` into the names of CuPy's module of that kind."""
    if cuda_emulator.STRICT:
        return
    wanted: Mapping[str, tuple[str, ...]] = {
        "numpy.linalg": OF_LINALG,
        "numpy.fft": (*OF_FFT, "hfft", "ihfft"),
        "scipy.fft": (*OF_FFT, "hfft", "ihfft", "dct", "idct", "dctn", "idctn"),
        "scipy.linalg": OF_SCIPY,
    }
    source = import_module(module)
    names.update({name: on_host(getattr(source, name)) for name in wanted[module]})
    if module == "scipy.linalg":
        names["solve_triangular"] = on_host(solve_triangular)

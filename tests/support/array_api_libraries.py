"""Calls of libraries that take arrays of any kind, on tensors and on NumPy's arrays.

Run as a program with the name of a library it prints the calls whose results differ.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported

import numpy as np

import dovetail

RNG = np.random.default_rng(0)
X, V = RNG.normal(size=(4, 6)), np.abs(RNG.normal(size=20))
TALL = RNG.normal(size=(30, 4))
LABELS, TARGETS = (TALL[:, 0] > 0).astype(np.int64), TALL @ np.arange(4.0)

Make = Callable[[Any], Any]
Calls = dict[str, Callable[[Make], Any]]


def scipy() -> Calls:
    from scipy import fft, ndimage, signal, special, stats
    from scipy.cluster import hierarchy, vq

    filters = (np.array([1.0, 0.5]), np.array([1.0, 0.2]))
    return {
        "fft.fft": lambda a: fft.fft(a(X)),
        "fft.rfftn": lambda a: fft.rfftn(a(X)),
        "fft.dct": lambda a: fft.dct(a(X)),
        "fft.fftshift": lambda a: fft.fftshift(a(X)),
        "ndimage.gaussian_filter": lambda a: ndimage.gaussian_filter(a(X), 1.0),
        "ndimage.zoom": lambda a: ndimage.zoom(a(X), 2),
        "ndimage.median_filter": lambda a: ndimage.median_filter(a(X), 3),
        "signal.convolve": lambda a: signal.convolve(a(X[0]), a(X[1])),
        "signal.fftconvolve": lambda a: signal.fftconvolve(a(X), a(X)),
        "signal.detrend": lambda a: signal.detrend(a(X)),
        "signal.lfilter": lambda a: signal.lfilter(*map(a, filters), a(X)),
        "signal.hilbert": lambda a: signal.hilbert(a(X)),
        "signal.savgol_filter": lambda a: signal.savgol_filter(a(X), 3, 1),
        "cluster.vq.whiten": lambda a: vq.whiten(a(X)),
        "cluster.vq.vq": lambda a: vq.vq(a(X), a(X[:2])),
        "cluster.hierarchy.linkage": lambda a: hierarchy.linkage(a(X)),
        "special.gammaln": lambda a: special.gammaln(a(V)),
        "special.expit": lambda a: special.expit(a(X)),
        "special.logsumexp": lambda a: special.logsumexp(a(X), axis=1),
        "special.xlogy": lambda a: special.xlogy(a(V), a(V)),
        "special.betainc": lambda a: special.betainc(a(V), a(V), a(np.clip(V, 0, 1))),
        "stats.zscore": lambda a: stats.zscore(a(X)),
        "stats.skew": lambda a: stats.skew(a(X), axis=1),
        "stats.kurtosis": lambda a: stats.kurtosis(a(X)),
        "stats.ttest_ind": lambda a: tuple(stats.ttest_ind(a(V[:10]), a(V[10:]))),
        "stats.pearsonr": lambda a: tuple(stats.pearsonr(a(V), a(V[::-1].copy()))),
        "stats.entropy": lambda a: stats.entropy(a(V)),
        "stats.iqr": lambda a: stats.iqr(a(V)),
        "stats.rankdata": lambda a: stats.rankdata(a(V)),
    }


def sklearn() -> Calls:
    from sklearn import metrics, preprocessing
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, Ridge

    def scaled(name: str) -> Callable[[Make], Any]:
        made = getattr(preprocessing, name)
        return lambda a: made().fit(a(TALL)).transform(a(TALL))

    def scored(name: str, truth: Any, guess: Any) -> Callable[[Make], Any]:
        return lambda a: float(getattr(metrics, name)(a(truth), a(guess)))

    other = np.roll(LABELS, 3)
    scalers = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer", "Binarizer")
    return {
        **{name: scaled(name) for name in scalers},
        "LabelEncoder": lambda a: preprocessing.LabelEncoder().fit(a(LABELS)).transform(a(LABELS)),
        "PCA": lambda a: PCA(2, svd_solver="full").fit(a(TALL)).transform(a(TALL)),
        "Ridge": lambda a: Ridge(solver="svd").fit(a(TALL), a(TARGETS)).predict(a(TALL)),
        "LogisticRegression": lambda a: (
            LogisticRegression(solver="lbfgs").fit(a(TALL), a(LABELS)).predict(a(TALL))
        ),
        "LinearDiscriminantAnalysis": lambda a: (
            LinearDiscriminantAnalysis().fit(a(TALL), a(LABELS)).predict(a(TALL))
        ),
        **{
            name: scored(name, LABELS, other)
            for name in ("accuracy_score", "zero_one_loss", "f1_score", "precision_score")
        },
        **{
            name: scored(name, TARGETS, TARGETS * 0.9)
            for name in ("mean_squared_error", "mean_absolute_error", "r2_score")
        },
    }


def array_api_extra() -> Calls:
    import array_api_extra as xpx

    return {
        "at": lambda a: xpx.at(a(X), 0).set(1.0),
        "atleast_nd": lambda a: xpx.atleast_nd(a(V), ndim=2),
        "cov": lambda a: xpx.cov(a(X)),
        "create_diagonal": lambda a: xpx.create_diagonal(a(V)),
        "expand_dims": lambda a: xpx.expand_dims(a(V), axis=(0,)),
        "isclose": lambda a: xpx.isclose(a(X), a(X)),
        "kron": lambda a: xpx.kron(a(X), a(X)),
        "nunique": lambda a: xpx.nunique(a(LABELS)),
        "one_hot": lambda a: xpx.one_hot(a(LABELS), 2),
        "pad": lambda a: xpx.pad(a(X), 1),
        "setdiff1d": lambda a: xpx.setdiff1d(a(LABELS), a(LABELS[:1])),
        "sinc": lambda a: xpx.sinc(a(X)),
    }


def einops() -> Calls:
    import einops
    import einops.array_api as of_any

    import dovetail.utils.einops_backend  # noqa: F401 - einops finds the class in it

    split = "a (b c) -> b a c"
    return {
        "array_api.rearrange": lambda a: of_any.rearrange(a(X), split, b=2),
        "array_api.reduce": lambda a: of_any.reduce(a(X), "a (b c) -> b", "mean", b=2),
        "array_api.repeat": lambda a: of_any.repeat(a(X), "a b -> a 2 b"),
        "rearrange": lambda a: einops.rearrange(a(X), split, b=2),
        "rearrange of a list": lambda a: einops.rearrange([a(X), a(X)], "n a b -> a (n b)"),
        **{
            f"reduce, {how}": lambda a, how=how: einops.reduce(a(X), "a (b c) -> b", how, b=2)
            for how in ("min", "max", "sum", "mean", "prod")
        },
        "repeat": lambda a: einops.repeat(a(X), "a b -> (a 2) b"),
        "einsum": lambda a: einops.einsum(a(X), a(X), "a b, c b -> a c"),
        "pack": lambda a: einops.pack([a(X), a(V[:6])], "* b")[0],
    }


def wrong(library: str) -> list[str]:
    """Return what is wrong with the calls of a library, in words."""
    found = []
    dispatch: Any = nullcontext()
    if library == "sklearn":
        from sklearn import config_context

        dispatch = config_context(array_api_dispatch=True)
    with dispatch:
        for name, call in globals()[library]().items():
            expected = call(np.asarray)
            try:
                result = call(dovetail.asarray)
            except Exception as error:
                found.append(f"{name}: {type(error).__name__}: {error}")
                continue
            each = result if isinstance(result, tuple) else (result,)
            others = expected if isinstance(expected, tuple) else (expected,)
            for mine, other in zip(each, others, strict=True):
                if not isinstance(mine, dovetail.Tensor | float):
                    found.append(f"{name}: a {type(mine).__name__}")
                elif not np.allclose(np.asarray(mine), np.asarray(other), rtol=1e-5, atol=1e-7):
                    found.append(f"{name}: {mine} instead of {other}")
    return found


if __name__ == "__main__":
    print(json.dumps(wrong(sys.argv[1])))

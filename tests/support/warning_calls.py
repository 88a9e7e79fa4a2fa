"""Calls that warn in PyTorch, of `torch` or `dovetail`: each time, or once in a process."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[Any], Any]


def complex_(lib: Any, *size: int) -> Any:
    return lib.ones(size, dtype=lib.complex64)


def grad(lib: Any) -> Any:
    return lib.ones(1, requires_grad=True)


def bytes_(lib: Any) -> Any:
    return lib.tensor([1, 0], dtype=lib.uint8)


def minimize(lib: Any, x: Any) -> None:
    optimizer = lib.optim.LBFGS([x])

    def loss() -> Any:
        optimizer.zero_grad()
        found = (x - 2).square().sum()
        found.backward()
        return found

    optimizer.step(loss)


EACH_TIME: dict[str, Call] = {
    "a module of complex numbers": lambda lib: lib.nn.Linear(2, 2).to(lib.cfloat).to(lib.cdouble),
    "std": lambda lib: lib.ones(1).std(),
    "var over a dimension": lambda lib: lib.var(lib.ones(2, 1), 1),
    "var_mean": lambda lib: lib.var_mean(lib.ones(1)),
    "std_mean": lambda lib: lib.std_mean(lib.ones(1)),
    "var of nothing": lambda lib: lib.ones(0).var(),
    "var of no rows": lambda lib: lib.ones(3, 0).var(0),
    "var with a large correction": lambda lib: lib.ones(3).var(correction=5),
    "var of a complex number": lambda lib: complex_(lib, 1).var(),
    "std of a complex number": lambda lib: complex_(lib, 1).std(),
    "std of half precision": lambda lib: lib.ones(1).half().std(),
    "std in vmap": lambda lib: lib.vmap(lambda x: x.std(0))(lib.ones(3, 1)),
    "the gradient of std": lambda lib: lib.ones(1, requires_grad=True).std(),
    "random_ beyond float32": lambda lib: lib.ones(2).random_(0, 2**30),
    "random_ beyond float16": lambda lib: lib.ones(2, dtype=lib.float16).random_(0, 2**14),
    "random_ beyond bfloat16": lambda lib: lib.ones(2, dtype=lib.bfloat16).random_(258),
    "random_ beyond float64": lambda lib: lib.ones(2, dtype=lib.float64).random_(2**60),
    "random_ from below": lambda lib: lib.ones(2).random_(-(2**30), 5),
    "random_ beyond both ends": lambda lib: lib.ones(2).random_(-(2**30), 2**30),
    "randint beyond float32": lambda lib: lib.randint(0, 2**30, (2,), dtype=lib.float32),
    "an out of another size": lambda lib: lib.add(lib.ones(2), lib.ones(2), out=lib.ones(3)),
    "range": lambda lib: lib.range(0, 3),
    "an index of bytes": lambda lib: lib.ones(2)[bytes_(lib)],
}

ONCE: dict[str, Call] = {
    "a conversion": lambda lib: complex_(lib, 2).to(lib.float32),
    "x.T": lambda lib: lib.ones(2, 3, 4).T,
    "x.T of no dimensions": lambda lib: lib.ones(()).T,
    "x.H of no dimensions": lambda lib: lib.ones(()).H,
    "x.mT of no dimensions": lambda lib: lib.ones(()).mT,
    "x.mH of no dimensions": lambda lib: lib.ones(()).mH,
    "adjoint of no dimensions": lambda lib: lib.ones(()).adjoint(),
    "meshgrid": lambda lib: lib.meshgrid(lib.ones(2), lib.ones(3)),
    "qr": lambda lib: lib.qr(lib.eye(2)),
    "cholesky": lambda lib: lib.cholesky(lib.eye(2)),
    "lu": lambda lib: lib.lu(lib.eye(2)),
    "lu_solve": lambda lib: lib.lu_solve(lib.ones(2, 1), *lib.linalg.lu_factor(lib.eye(2))),
    "triangular_solve": lambda lib: lib.triangular_solve(lib.ones(2, 1), lib.eye(2)),
    "chain_matmul": lambda lib: lib.chain_matmul(lib.ones(2, 2), lib.ones(2, 2)),
    "cross": lambda lib: lib.cross(lib.ones(3, 3), lib.ones(3, 3)),
    "stft": lambda lib: lib.stft(lib.ones(16), 4, return_complex=True),
    "istft": lambda lib: lib.istft(complex_(lib, 3, 17), 4),
    "stft in real numbers": lambda lib: lib.stft(
        lib.ones(16), 4, return_complex=False, window=lib.ones(4)
    ),
    "padding by name": lambda lib: lib.nn.functional.conv1d(
        lib.ones(1, 1, 4), lib.ones(1, 1, 2), padding="same"
    ),
    "float": lambda lib: float(grad(lib)),
    "where of bytes": lambda lib: lib.where(bytes_(lib), 1.0, 0.0),
    "boundaries to copy": lambda lib: lib.searchsorted(
        lib.arange(6.0).reshape(2, 3).T, lib.ones(3, 1)
    ),
    "values to copy": lambda lib: lib.searchsorted(
        lib.arange(6.0).reshape(3, 2), lib.arange(6.0).reshape(2, 3).T
    ),
    "a sorter to copy": lambda lib: lib.searchsorted(
        lib.arange(6.0).reshape(3, 2),
        lib.ones(3, 1),
        sorter=lib.arange(2).expand(3, 2).T.contiguous().T,
    ),
    "an overload of old": lambda lib: lib.ones(2).add_(2, lib.ones(2)),
    "scatter with a reduction": lambda lib: lib.ones(2).scatter_(
        0, lib.tensor([0]), lib.ones(1), reduce="add"
    ),
    "index_reduce": lambda lib: lib.ones(2).index_reduce_(0, lib.tensor([0]), lib.ones(1), "prod"),
    "a list of arrays": lambda lib: lib.tensor([np.ones(2), np.ones(2)]),
    "a backward that makes a graph": lambda lib: grad(lib).sum().backward(create_graph=True),
}

AS_ANOTHER: dict[str, Call] = {
    "copy_": lambda lib: lib.ones(2).copy_(complex_(lib, 2)),
    "int": lambda lib: complex_(lib, 2).int(),
    "an assignment": lambda lib: lib.ones(2).__setitem__(0, complex_(lib)),
    "fill_": lambda lib: lib.ones(2).fill_(complex_(lib)),
    "type": lambda lib: complex_(lib, 2).type(lib.float32),
    "as_tensor": lambda lib: lib.as_tensor(complex_(lib, 2), dtype=lib.float32),
    "sum": lambda lib: complex_(lib, 2).sum(dtype=lib.float32),
    "select_scatter": lambda lib: lib.ones(2).select_scatter(complex_(lib), 0, 0),
    "_foreach_copy_": lambda lib: lib._foreach_copy_([lib.ones(2)], [complex_(lib, 2)]),
    "Module.to": lambda lib: lib.nn.Linear(2, 2, False, dtype=lib.complex64).to(lib.float32),
    "load_state_dict": lambda lib: lib.nn.Linear(2, 2, False).load_state_dict(
        lib.nn.Linear(2, 2, False, dtype=lib.complex64).state_dict()
    ),
    "x.T of one dimension": lambda lib: lib.ones(2).T,
    "meshgrid of one": lambda lib: lib.meshgrid(lib.ones(2)),
    "x.qr": lambda lib: lib.eye(2).qr(),
    "x.cholesky": lambda lib: lib.eye(2).cholesky(),
    "x.lu": lambda lib: lib.eye(2).lu(),
    "x.triangular_solve": lambda lib: lib.ones(2, 1).triangular_solve(lib.eye(2)),
    "qr of no data": lambda lib: lib.qr(lib.eye(2, device="meta")),
    "cholesky in vmap": lambda lib: lib.vmap(lib.cholesky)(lib.eye(2)[None]),
    "x.cross": lambda lib: lib.ones(3, 3).cross(lib.ones(3, 3)),
    "images padded by name": lambda lib: lib.nn.functional.conv2d(
        lib.ones(1, 1, 4, 4), lib.ones(1, 1, 2, 3), padding="same"
    ),
    "complex": lambda lib: complex(grad(lib)),
    "float of a result": lambda lib: float(grad(lib) * 2),
    "a function of numbers": lambda lib: math.sin(grad(lib)),
    "where of bytes and tensors": lambda lib: lib.where(bytes_(lib), lib.ones(2), lib.ones(2)),
    "bucketize": lambda lib: lib.bucketize(lib.arange(6.0).reshape(2, 3).T, lib.arange(3.0)),
    "boundaries with steps": lambda lib: lib.bucketize(lib.arange(6.0), lib.arange(6.0)[::2]),
    "add of old": lambda lib: lib.add(lib.ones(2), 2, lib.ones(2)),
    "addmm of old": lambda lib: lib.addmm(2, *[lib.ones(2, 2)] * 3),
}
"""Calls that have a warning in common with one of `ONCE`."""

NEVER: dict[str, Call] = {
    "var of enough": lambda lib: lib.ones(2).var(correction=1.5),
    "var of nothing, with less": lambda lib: lib.ones(0).var(correction=-1),
    "var of no data": lambda lib: lib.ones(1, device="meta").var(),
    "bool of complex numbers": lambda lib: complex_(lib, 2).bool(),
    "a conversion of nothing": lambda lib: complex_(lib, 0).float(),
    "Module.float": lambda lib: lib.nn.Linear(2, 2, dtype=lib.complex64).float(),
    "masked_fill": lambda lib: lib.ones(2).masked_fill(lib.ones(2).bool(), complex_(lib)),
    "float of a complex number": lambda lib: float(complex_(lib)),
    "gradients of real tensors": lambda lib: (grad(lib) * complex_(lib, 1)).abs().backward(),
    "x.T of a matrix": lambda lib: lib.ones(2, 3).T,
    "x.mT": lambda lib: lib.ones(2, 3, 4).mT,
    "meshgrid with an order": lambda lib: lib.meshgrid(lib.ones(2), indexing="ij"),
    "linalg.qr": lambda lib: lib.linalg.qr(lib.eye(2)),
    "linalg.cross": lambda lib: lib.linalg.cross(lib.ones(3, 3), lib.ones(3, 3)),
    "cross along a dimension": lambda lib: lib.cross(lib.ones(3, 3), lib.ones(3, 3), dim=1),
    "svd": lambda lib: lib.svd(lib.eye(2)),
    "istft with a window": lambda lib: lib.istft(complex_(lib, 3, 17), 4, window=lib.ones(4)),
    "padding by name, dilated": lambda lib: lib.nn.functional.conv1d(
        lib.ones(1, 1, 4), lib.ones(1, 1, 2), padding="same", dilation=2
    ),
    "float in no_grad": lambda lib: lib.no_grad()(lambda: float(grad(lib)))(),
    "LBFGS": lambda lib: minimize(lib, grad(lib)),
    "int of what requires grad": lambda lib: int(grad(lib)),
    "bool of what requires grad": lambda lib: bool(grad(lib)),
    "item of what requires grad": lambda lib: grad(lib).item(),
    "scatter of a number with a reduction": lambda lib: lib.ones(2).scatter(
        0, lib.tensor([0]), 2.0, reduce="add"
    ),
    "scatter_reduce": lambda lib: lib.ones(2).scatter_reduce(
        0, lib.tensor([0]), lib.ones(1), "prod"
    ),
    "random_ of every integer": lambda lib: lib.ones(2).random_(-(2**24), 2**24 + 1),
    "random_ of no data": lambda lib: lib.ones(2, device="meta").random_(2**30),
}


def warnings_of(call: Call, lib: Any) -> list[warnings.WarningMessage]:
    """Return the warnings of a call, repeated ones too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(lib)
    return caught


def counts_of_repeated_calls(lib: Any) -> dict[str, list[int]]:
    """Return how many warnings three calls in turn give, by name, as a process has them that has
    made the calls before it in the tables.
    """
    return {
        name: [len(warnings_of(call, lib)) for _ in range(3)]
        for name, call in (EACH_TIME | ONCE | AS_ANOTHER | NEVER).items()
    }

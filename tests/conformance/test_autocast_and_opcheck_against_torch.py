"""`autocast` and `opcheck`, compared with PyTorch: the same program on both."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

NUMBERS = count()
DTYPES = ("float32", "bfloat16", "float64")


def dtype_of(lib: Any, program: Any, dtype: str) -> str:
    x = lib.tensor(np.linspace(0.1, 0.8, 4).reshape(2, 2).tolist()).to(getattr(lib, dtype))
    with lib.autocast("cpu"):
        return str(program(lib, x).dtype).rpartition(".")[2]


def f(lib: Any) -> Any:
    return lib.nn.functional


PROGRAMS = {
    "mm": lambda lib, x: lib.mm(x, x),
    "matmul": lambda lib, x: x @ x[0],
    "bmm": lambda lib, x: lib.bmm(x[None], x[None]),
    "addmm": lambda lib, x: lib.addmm(x, x, x),
    "addbmm": lambda lib, x: lib.addbmm(x, x[None], x[None]),
    "baddbmm": lambda lib, x: lib.baddbmm(x[None], x[None], x[None]),
    "linear": lambda lib, x: f(lib).linear(x, x, x[0]),
    "prelu": lambda lib, x: f(lib).prelu(x, x[0, :1]),
    "mv": lambda lib, x: lib.mv(x, x[0]),
    "dot": lambda lib, x: lib.dot(x[0], x[0]),
    "add": lambda lib, x: x + x,
    "exp": lambda lib, x: x.exp(),
    "sum": lambda lib, x: x.sum(),
    "prod": lambda lib, x: x.prod(),
    "prod of a dim": lambda lib, x: x.prod(0),
    "softmax": lambda lib, x: x.softmax(0),
    "layer_norm": lambda lib, x: f(lib).layer_norm(x, (2,)),
    "mse_loss": lambda lib, x: f(lib).mse_loss(x, x),
    "l1_loss": lambda lib, x: f(lib).l1_loss(x, x),
    "nll_loss": lambda lib, x: f(lib).nll_loss(x, lib.tensor([0, 1])),
    "cross_entropy": lambda lib, x: f(lib).cross_entropy(x, lib.tensor([0, 1])),
    "bce": lambda lib, x: f(lib).binary_cross_entropy_with_logits(x, x),
    "cat": lambda lib, x: lib.cat([x, x]),
    "cat of two dtypes": lambda lib, x: lib.cat([x, x.float()]),
    "stack of two dtypes": lambda lib, x: lib.stack([x, x.bfloat16()]),
}


@pytest.mark.cpu_only(reason="every device has lists of its own")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_result_has_the_same_dtype(name: str, dtype: str) -> None:
    assert dtype_of(dovetail, PROGRAMS[name], dtype) == dtype_of(torch, PROGRAMS[name], dtype)


# -- opcheck ---------------------------------------------------------------------------------------


def custom(
    lib: Any, fn: Any, schema: str = "(Tensor x) -> Tensor", fake: Any = None, backward: Any = None
) -> Any:
    writes = ("x",) if "!" in schema else ()
    op = lib.library.custom_op(f"ckt{next(NUMBERS)}::f", fn, mutates_args=writes, schema=schema)
    if fake is not None:
        op.register_fake(fake)
    if backward is not None:
        op.register_autograd(backward)
    return op


def raw(lib: Any, fn: Any, *keys: str, schema: str = "f(Tensor x) -> Tensor") -> Any:
    namespace = f"ckt{next(NUMBERS)}"
    library = lib.library.Library(namespace, "DEF")
    KEPT.append(library)
    library.define(schema)
    for key in keys:
        library.impl("f", fn, key)
    return getattr(lib.ops, namespace).f.default


KEPT: list[Any] = []


def same(x: Any) -> Any:
    return x.new_empty(x.shape)


OPERATORS = {
    "good": lambda lib: custom(lib, lambda x: x * 2, fake=same, backward=lambda ctx, g: g * 2),
    "no fake": lambda lib: custom(lib, lambda x: x * 2, backward=lambda ctx, g: g * 2),
    "wrong fake": lambda lib: custom(lib, lambda x: x * 2, fake=lambda x: x.new_empty(7)),
    "no derivative": lambda lib: custom(lib, lambda x: x * 2, fake=same),
    "wrong derivative": lambda lib: custom(
        lib, lambda x: x * 2, fake=same, backward=lambda ctx, g: g.new_ones(5)
    ),
    "hidden write": lambda lib: custom(lib, lambda x: x.add_(1).clone(), fake=same),
    "declared write": lambda lib: custom(
        lib, lambda x: [x.sin_()][1:] or None, "(Tensor(a!) x) -> ()"
    ),
    "alias": lambda lib: raw(lib, lambda x: x, "CPU", "Meta"),
    "backend kernel of tensor operations": lambda lib: raw(lib, lambda x: x * 2, "CPU", "Meta"),
    "composite": lambda lib: raw(lib, lambda x: x.sin().cos(), "CompositeImplicitAutograd"),
    "sin": lambda lib: lib.ops.aten.sin.default,
    "t": lambda lib: lib.ops.aten.t.default,
}


@pytest.mark.cpu_only(reason="the operators have kernels for the cpu")
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_the_same_checks_fail(name: str, requires_grad: bool) -> None:
    def failing(lib: Any) -> set[str]:
        if requires_grad and name == "hidden write":
            return set()
        x = lib.ones(2, 2, requires_grad=requires_grad)
        results = lib.library.opcheck(OPERATORS[name](lib), (x,), raise_exception=False)
        return {check for check, result in results.items() if result != "SUCCESS"}

    expected, actual = failing(torch), failing(dovetail)
    if name in ("wrong fake", "hidden write", "alias", "backend kernel of tensor operations"):
        # PyTorch's tracer, which there is not here, trips over some and works around others.
        expected, actual = ({*each} - {"test_aot_dispatch_dynamic"} for each in (expected, actual))
    assert actual == expected

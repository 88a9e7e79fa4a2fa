# ruff: noqa: E501 - tables with a row per case read better unbroken
"""Arguments for every operator of the base library that is a kernel of its own, for tests that go
through all of them.
"""

from __future__ import annotations

from typing import Any

import dovetail as dt
from dovetail_aten.meta.registration import DATA_DEPENDENT
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey

X = dt.arange(24, dtype=dt.float32).reshape(2, 3, 4) / 7 - 1
POSITIVE = X.abs() + 0.5
M = X[0]
SQUARE = dt.eye(3) + 1
COUNTS = dt.arange(6).reshape(2, 3)
MASK = X > 0
ROW = dt.ones(4)
COLUMN = dt.ones(3, 1)
HALF = dt.ones(2, 3, dtype=dt.float16)
COMPLEX = dt.ones(2, 3, dtype=dt.complex64)
INDEX = dt.tensor([1, 0])
F = {"dtype": dt.float32, "device": "cpu"}

SAMPLES: dict[str, list[tuple[Any, ...]]] = {
    "where.self": [(MASK, X, X), (MASK, ROW, COLUMN)],
    "masked_fill.Scalar": [(X, MASK, 2.0), (ROW, MASK, 1)],
    "masked_fill.Tensor": [(X, MASK, dt.tensor(2.0))],
    "div.Tensor_mode": [(X, X, {"rounding_mode": "floor"}), (COUNTS, COUNTS + 1, {"rounding_mode": None})],
    "div.Scalar_mode": [(X, 2, {"rounding_mode": "trunc"}), (COUNTS, 2, {"rounding_mode": None})],
    "clamp": [(X, 0, 1), (COUNTS, 1, None)],
    "clamp.Tensor": [(X, ROW, None), (X, None, ROW)],
    "lerp.Scalar": [(X, X, 0.5)],
    "pow.Scalar": [(2, X), (2, COUNTS)],
    "_prelu_kernel": [(X, ROW)],
    "_prelu_kernel_backward": [(X, X, ROW.expand(2, 3, 4))],
    "threshold": [(X, 0.5, 0.0)],
    "threshold_backward": [(X, X, 0.5)],
    "elu_backward": [(X, 1.0, 1.0, 1.0, False, X)],
    "leaky_relu_backward": [(X, X, 0.1, False)],
    "softplus_backward": [(X, X, 1.0, 20.0)],
    "hardtanh_backward": [(X, X, -1.0, 1.0)],
    "log_sigmoid_forward": [],
    "log_sigmoid_backward": [(X, X, X)],
    "native_dropout_backward": [(X, MASK, 2.0)],
    "sum": [(X,), (COUNTS,), (X > 0,), (HALF,), (X, {"dtype": dt.float64})],
    "sum.dim_IntList": [(X, (1,)), (X, (0, -1), True), (X, None), (COUNTS, (0,)), (X, ()), (dt.tensor(1.0), (0,))],
    "mean.dim": [(X, (1,)), (X, (0, 2), True), (HALF, (0,))],
    "prod.dim_int": [(X, 1), (COUNTS, 0, True)],
    "amax": [(X, (1,)), (X, ()), (COUNTS, (0,), True)],
    "amin": [(X, (1,), True)],
    "max.dim": [(X, 1), (COUNTS, 0, True)],
    "min.dim": [(X, -1)],
    "argmax": [(X,), (X, 1), (X, 1, True)],
    "argmin": [(X, 0)],
    "any": [(MASK,), (COUNTS,), (COUNTS.to(dt.uint8),)],
    "any.dim": [(MASK, 1), (X, 1, True)],
    "all.dim": [(MASK, 1), (COUNTS.to(dt.uint8), 0)],
    "var.correction": [(X, (1,)), (X, None), (COMPLEX, (0,), {"keepdim": True}), (X, (0, 1), {"correction": 0})],
    "std.correction": [(X, (1,))],
    "linalg_vector_norm": [(X,), (X, 1, (0, 1), True), (COMPLEX, 2, (0,)), (X, 2, None, {"dtype": dt.float64})],
    "logsumexp": [(X, (1,)), (X, (0, 1), True)],
    "count_nonzero": [(X,), (X, 1)],
    "count_nonzero.dim_IntList": [(X, (0, 1))],
    "cumsum": [(X, 1), (COUNTS, 0), (MASK, 0)],
    "cumprod": [(X, 1)],
    "sort": [(X,), (X, 0, True)],
    "topk": [(X, 2), (X, 1, 0)],
    "mm": [(M, M.t())], "bmm": [(X, X.transpose(1, 2))], "mv": [(M, ROW)], "dot": [(ROW, ROW)], "vdot": [(ROW, ROW)],
    "addmm": [(dt.ones(3), M, M.t())], "addmv": [(dt.ones(3), M, ROW)], "baddbmm": [(dt.ones(3), X, X.transpose(1, 2))],
    "addbmm": [(dt.ones(3, 3), X, X.transpose(1, 2))],
    "view": [(X, (6, 4)), (X, (-1,)), (X, (2, 1, 12)), (X.transpose(0, 1), (3, 2, 2, 2)), (dt.tensor(1.0), (1, 1)), (dt.zeros(0, 3), (3, 0))],
    "permute": [(X, (2, 0, 1)), (dt.tensor(1.0), ())],
    "transpose.int": [(X, 0, -1)],
    "t": [(M,), (ROW,), (dt.tensor(1.0),)],
    "select.int": [(X, 1, 2), (X, -1, -1), (ROW, 0, 0)],
    "slice.Tensor": [(X, 1, 1, 3), (X, 2, None, None, 2), (X, 0, 5, 1), (X, 0, -1)],
    "expand": [(COLUMN, (3, 4)), (ROW, (2, 3, 4)), (COLUMN, (-1, 5)), (COLUMN, (2, 1, 3, 1))],
    "unsqueeze": [(X, 0), (X, 3), (X, -2), (X.transpose(0, 2), 1), (dt.tensor(1.0), 0)],
    "squeeze": [(COLUMN,), (X,)], "squeeze.dim": [(COLUMN, 1), (COLUMN, 0)], "squeeze.dims": [(COLUMN, (0, 1))],
    "unbind.int": [(X,), (X, 1)],
    "split.Tensor": [(X, 2, 1), (X, 3)], "split_with_sizes": [(X, (1, 2), 1)],
    "diagonal": [(X,), (X, 1, 1, 2), (X, -1, 0, 2), (SQUARE, 5)],
    "as_strided": [(X, (2, 2), (1, 2)), (X, (3,), (4,), 2), (X[1], (2,), (1,))],
    "view.dtype": [(X, dt.int32), (X, dt.float64), (X, dt.int16)],
    "view_as_real": [(COMPLEX,)], "view_as_complex": [(dt.ones(3, 2),)],
    "clone": [(X,), (X.permute(2, 0, 1),), (X[:, ::2],)],
    "_to_copy": [(X, {"dtype": dt.float64}), (X.permute(2, 0, 1), {"dtype": dt.int32})],
    "_unsafe_view": [(X, (6, 4))],
    "flip": [(X, (0, 1))], "roll": [(X, (1,), (0,)), (X, (2,))], "repeat": [(X, (2, 1, 1)), (ROW, (2, 2))],
    "cat": [([X, X],), ([X, X], 1), ([COUNTS, COUNTS + 0.5], 0), ([ROW, dt.zeros(0)],)],
    "stack": [([X, X],), ([X, X], -1)],
    "tril": [(X,)], "triu": [(M, 1)], "diag_embed": [(M,), (M, 1), (M, -1, 0, 2)],
    "constant_pad_nd": [(X, (1, 2)), (X, (1, 1, 0, 2), 5.0), (X, (-1, 0))],
    "index.Tensor": [(X, [INDEX]), (X, [None, INDEX]), (X, [INDEX, None, INDEX]), (X, [INDEX, INDEX, INDEX]), (X, [None, COUNTS // 3, INDEX.new_zeros(2, 1)])],
    "index_put": [(X, [INDEX], dt.ones(3, 4)), (X, [None, INDEX], dt.tensor(1.0), True)],
    "index_put_": [(X, [INDEX], dt.ones(3, 4))],
    "index_select": [(X, 1, INDEX)], "index_add": [(X, 0, INDEX, X)],
    "gather": [(X, 1, dt.zeros(2, 1, 4, dtype=dt.int64))],
    "scatter.src": [(X, 1, dt.zeros(2, 1, 4, dtype=dt.int64), X[:, :1])],
    "scatter.value": [(X, 1, dt.zeros(2, 1, 4, dtype=dt.int64), 1.0)],
    "scatter_add": [(X, 1, dt.zeros(2, 1, 4, dtype=dt.int64), X[:, :1])],
    "take": [(X, COUNTS)],
    "_softmax": [(X, 1, False)], "_log_softmax": [(X, -1, False)],
    "_softmax_backward_data": [(X, X, 1, dt.float32)], "_log_softmax_backward_data": [(X, X, 1, dt.float32)],
    "nll_loss_forward": [(M, dt.tensor([0, 1, 2]), None, r, -100) for r in (0, 1, 2)] + [(ROW, dt.tensor(1), None, 1, -100)],
    "nll_loss_backward": [(dt.tensor(1.0), M, dt.tensor([0, 1, 2]), None, 1, -100, dt.tensor(3.0))],
    "mse_loss": [(X, X, 0), (X, ROW, 1)], "smooth_l1_loss": [(X, X, 0), (X, X, 2)],
    "mse_loss_backward": [(dt.tensor(1.0), X, X, 1)],
    "embedding_dense_backward": [(dt.ones(2, 3, 4), COUNTS, 6, -1, False)],
    "native_layer_norm": [(X, (4,), None, None, 1e-5), (X, (3, 4), dt.ones(3, 4), dt.zeros(3, 4), 1e-5)],
    "native_layer_norm_backward": [
        (X, X, (4,), dt.ones(2, 3, 1), dt.ones(2, 3, 1), ROW, ROW, (True, True, True))
    ],
    "empty.memory_format": [((2, 3), F)], "zeros": [((2, 0), F)], "ones": [((), F)], "full": [((2,), 1, {"device": "cpu"})],
    "empty_strided": [((2, 3), (1, 2), F)], "rand": [((2,), F)], "randn": [((2, 3), F)],
    "arange": [(5, {"device": "cpu"}), (2.5, {"device": "cpu"})], "arange.start": [(1, 4, {"device": "cpu"})],
    "arange.start_step": [(0, 1, 0.3, {"device": "cpu"}), (5, 0, -2, {"device": "cpu"})],
    "linspace": [(0, 1, 5, {"device": "cpu"})], "eye": [(3, F)], "scalar_tensor": [(2, F)],
    "randint": [(5, (2,), {"device": "cpu"})], "randint.low": [(1, 5, (2, 3), {"device": "cpu"})], "randperm": [(4, {"device": "cpu"})],
    "empty_like": [(X,), (X.permute(2, 0, 1),)], "zeros_like": [(X.permute(2, 0, 1),)], "ones_like": [(X, {"dtype": dt.int32})],
    "full_like": [(X, 2)], "rand_like": [(X,)], "randn_like": [(X,)],
    "new_empty": [(X, (2,))], "new_zeros": [(X, (2,))], "new_ones": [(X, (2,))], "new_full": [(X, (2,), 3)],
    "uniform_": [(X,)], "normal_": [(X,)], "bernoulli_.float": [(X,)], "bernoulli": [(X * 0,)],
    "native_dropout": [(X, 0.5, True)], "multinomial": [(POSITIVE[0], 2)],
    "copy_": [(X, ROW)], "fill_.Scalar": [(X, 1)], "fill_.Tensor": [(X, dt.tensor(1.0))], "zero_": [(X,)],
    "_local_scalar_dense": [],
}  # fmt: skip
"""Arguments by operator; a dict at the end is keywords. Pointwise operators that are not here get
arguments by their schema.
"""

INTEGERS_ONLY = ("bitwise",)
NO_INTEGERS = (
    "_backward",
    "gelu",
    "silu",
    "softplus",
    "elu",
    "nan_to_num",
    "frac",
    "hardtanh",
    "_prelu",
    "lerp",
    "hypot",
    "logaddexp",
    "addcdiv",
)


def operators() -> list[str]:
    """Return the operators of the base library that are kernels of their own."""
    names = []
    for op in registry.all_operators():
        composite = op.newest(DispatchKey.CompositeImplicitAutograd) or op.newest(
            DispatchKey.CompositeExplicitAutograd
        )
        if (
            op.namespace == "aten"
            and op.variant_of is None
            and not any(a.is_out for a in op.schema.arguments)
        ):
            name = f"{op.base_name}.{op.overload}" if op.overload else op.base_name
            if (not composite or name in SAMPLES) and f"aten::{op.base_name}" not in DATA_DEPENDENT:
                names.append(name)
    return names


def samples(name: str) -> list[tuple[Any, ...]]:
    """Return arguments for an operator: those written above, or, for a pointwise one, made from its
    schema.
    """
    if name in SAMPLES:
        return SAMPLES[name]
    base, _, overload = name.partition(".")
    op = registry.find_or_throw(f"aten::{base}", overload)
    if op.kind != "pointwise":
        return [(POSITIVE,)]
    integers = [(COUNTS + 1, COUNTS + 1, COUNTS + 1)]
    floats = [
        (POSITIVE,) * 3,
        (POSITIVE, ROW, COLUMN),
        (POSITIVE.permute(2, 0, 1),) * 3,
        (POSITIVE, dt.tensor(0.5), dt.tensor(0.5)),
    ]
    if "backward" in base:
        floats = floats[:1]
    chosen = integers if base.startswith(INTEGERS_ONLY) else floats
    if chosen is floats and not any(word in base for word in NO_INTEGERS):
        chosen = floats + integers
    made = []
    for operands in chosen:
        remaining = iter(operands)
        arguments: list[Any] = []
        for argument in op.schema.arguments:
            kind = argument.real_type.schema_str
            if kind == "Tensor":
                arguments.append(next(remaining))
            elif not argument.has_default_value():
                arguments.append(2)
        made.append(tuple(arguments))
    return made

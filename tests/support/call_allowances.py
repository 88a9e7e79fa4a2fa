"""Where calls may differ from PyTorch's, and why: one row for each reason, as narrow as it goes.

The last member of every row is a call that shows it: a test tries whether it still differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from call_outcomes import Disagreement
from call_values import COMPLEXES, WIDE_UNSIGNED, Name, TensorValue, as_dtype
from random_calls import Call

FACTORIES = ("arange", "eye", "linspace", "randperm", "randint", "bernoulli", "bernoulli_")
RANDOM = ("dropout", "native_dropout", "native_dropout_backward", *FACTORIES, "normal_", "uniform_")
REFUSALS = ("RuntimeError", "IndexError", "NotImplementedError")
ROUNDED_BACKWARD = ("native_layer_norm_backward", "layer_norm", "native_layer_norm")
CONJUGATES = ("conj", "adjoint", "mH", "matrix_H", "resolve_conj", "vdot")
REORDERED = ("flip", "argsort", "sort", "topk", "rand_like", "randn_like", "native_dropout")
LOSSES_OF_INTEGERS = ("mse_loss", "mse_loss_backward", "smooth_l1_loss_backward", "smooth_l1_loss")
WITH_OTHER_PARAMETERS = ("index", "where", "add", "sub", "rsub", "split", "index_put", "roll")


@dataclass(frozen=True)
class Allowance:
    """A difference that is allowed.

    Attributes
    ----------
    reason
        What the two do, and why it stays so.
    kinds
        The classes of disagreement.
    holds
        Whether a call is one of those.
    example
        A call that shows it.
    """

    reason: str
    kinds: tuple[str, ...]
    holds: Callable[[Call, Disagreement], bool]
    example: Call


def allowed(call: Call, found: Disagreement) -> Allowance | None:
    """Return the row that allows a disagreement, or None."""
    for row in ALLOWANCES:
        if found.kind in row.kinds and row.holds(call, found):
            return row
    return None


# -- what calls are --------------------------------------------------------------------------------


def tensor(values: Any, dtype: str = "float32", layout: str = "contiguous", grad: Any = 0) -> Any:
    return TensorValue(dtype, as_dtype(np.array(values), dtype), layout, bool(grad))


def call(operator: str, *args: Any, form: str = "overload", **kwargs: Any) -> Call:
    return Call(operator, form, args, kwargs)


def of(*names: str) -> Callable[[Call, Disagreement], bool]:
    return lambda each, _found: each.base.rstrip("_") in names or each.base in names


def has_complex(each: Call) -> bool:
    return any(one.dtype in COMPLEXES for one in each.tensors()) or any(
        isinstance(value, complex) or value in map(Name, COMPLEXES)
        for value in (*each.args, *each.kwargs.values())
        if not isinstance(value, TensorValue | list | tuple)
    )


def has_nothing(each: Call) -> bool:
    sizes = [value for value in each.args if isinstance(value, list | tuple)]
    return any(not one.values.size for one in each.tensors()) or any(
        0 in size for size in sizes if all(type(n) is int for n in size)
    )


def non_finite(each: Call) -> bool:
    """Say whether numbers of a call are not finite, or so great that sums and squares are not."""
    numbers = [value for value in each.args if isinstance(value, int | float | complex)]
    return any(
        not bool((np.abs(one.values) < 1e18).all())
        for one in each.tensors()
        if one.values.dtype.kind in "fc"
    ) or any(not abs(value) < 1e18 for value in numbers)


def is_wide(each: Call) -> bool:
    wide = [Name(name) for name in WIDE_UNSIGNED]
    return any(one.dtype in WIDE_UNSIGNED for one in each.tensors()) or any(
        value in wide for value in each.kwargs.values() if isinstance(value, Name)
    )


def writes_out(each: Call) -> bool:
    return bool({"out", "values", "indices", "max", "min", "min_indices"} & set(each.kwargs))


def has_layouts(each: Call) -> bool:
    return any(one.layout != "contiguous" for one in each.tensors())


ORDER_OF_CHECKS = Allowance(
    "of two faults each library finds the one that it looks for first",
    ("exception type", "gradient: exception type"),
    lambda each, found: found.types[0] in REFUSALS and found.types[1] in REFUSALS,
    call("clamp", tensor([1j], "complex64")),
)
ALLOWANCES = [
    ORDER_OF_CHECKS,
    Allowance(
        "a public function is its overload itself, whose error for arguments that do not fit is a "
        "RuntimeError; several overloads give the TypeError of PyTorch",
        ("exception type",),
        lambda each, found: each.form in ("function", "method") and found.types[1] == "TypeError",
        call("cos", "x", form="function"),
    ),
    Allowance(
        "sizes that do not fit are a RuntimeError of the loss below the composite",
        ("exception type",),
        lambda each, found: "loss" in each.base and found.types == ("RuntimeError", "ValueError"),
        call("cross_entropy_loss", tensor([[1.0, 2.0]]), tensor([0, 1], "int64")),
    ),
    Allowance(
        "PyTorch looks at no dtype, and at few sizes, where there are no elements",
        ("raises", "PyTorch raises", "dtype", "exception type", "PyTorch refuses a dtype"),
        lambda each, found: has_nothing(each),
        call("mm", tensor(np.zeros((2, 0)), "bool"), tensor(np.zeros((0, 2)), "bool")),
    ),
    Allowance(
        "memory is not pinned: pin_memory is taken and has no effect, as on a PyTorch with an "
        "accelerator that has it",
        ("PyTorch raises",),
        lambda each, found: bool(each.kwargs.get("pin_memory")),
        call("zeros", [2], pin_memory=True),
    ),
    Allowance(
        "infinite complex numbers are multiplied, divided and raised as C and NumPy do it, which "
        "is another way than that of std::complex",
        ("NaN or infinity", "gradient: NaN or infinity", "value", "gradient: value", "argument"),
        lambda each, found: has_complex(each),
        call("pow.Scalar", 0, tensor([-2.65 + 0.6j], "complex64")),
    ),
    Allowance(
        "the sign of a zero part of a complex number is that of NumPy's product; PyTorch's depends "
        "on the place in memory",
        ("sign of zero", "gradient: sign of zero"),
        lambda each, found: has_complex(each),
        call("sigmoid_backward", tensor(5, "uint8"), tensor(5, "complex128")),
    ),
    Allowance(
        "there is no lazy conjugation: conjugates of complex numbers are copies",
        ("memory", "strides"),
        of(*CONJUGATES),
        call("conj", tensor([1j], "complex64")),
    ),
    Allowance(
        "operands in different orders give C order, as in NumPy; PyTorch's results lie as the "
        "first operand",
        ("strides",),
        lambda each, found: len(each.tensors()) > 1 and has_layouts(each),
        call("add.Tensor", tensor(np.ones((2, 3)), layout="transposed"), tensor(np.ones((2, 3)))),
    ),
    Allowance(
        "these give C order whatever the order of their operand",
        ("strides",),
        lambda each, found: each.base in REORDERED and has_layouts(each),
        call("flip", tensor(np.ones((2, 3)), layout="transposed"), [0]),
    ),
    Allowance(
        "equal elements may be sorted in any order: here in that of their places",
        ("value",),
        of("argsort", "sort", "topk"),
        call("argsort", tensor([True, False] * 8 + [True], "bool")),
    ),
    Allowance(
        "PyTorch reads the first of several elements without looking",
        ("raises",),
        of("_local_scalar_dense"),
        call("_local_scalar_dense", tensor([1.0, 2.0])),
    ),
    Allowance(
        "there is a derivative here and none in PyTorch",
        ("gradient: PyTorch raises",),
        of("silu_backward"),
        call("silu_backward", tensor([1.0]), tensor([1.0], grad=1)),
    ),
    Allowance(
        "there is a derivative of complex numbers here and none in PyTorch",
        ("PyTorch raises", "gradient: PyTorch raises"),
        lambda each, found: has_complex(each) and "differentiation" in found.text,
        call("silu", tensor([1j], "complex64", grad=1)),
    ),
    Allowance(
        "out= beside tensors that require grad is refused by every operator; PyTorch drops the "
        "gradient silently where the variant is made of others",
        ("raises",),
        lambda each, found: writes_out(each) and "out=... arguments" in found.text,
        call("eq.Tensor_out", tensor([1.0], grad=1), tensor([1.0]), out=tensor([True], "bool")),
    ),
    Allowance(
        "arange, eye and draws make every dtype; PyTorch has no kernels of some",
        ("PyTorch refuses a dtype", "PyTorch raises"),
        lambda each, found: each.base in RANDOM and (is_wide(each) or has_complex(each)),
        call("arange", 3, dtype=Name("uint16")),
    ),
    Allowance(
        "PyTorch's gradients of losses of integers are rounded",
        ("raises",),
        lambda each, found: each.base in LOSSES_OF_INTEGERS and "not implemented" in found.text,
        call("mse_loss_backward", *[tensor([1], "int64")] * 3, 1),
    ),
    Allowance(
        "PyTorch's gradient reads its buffer, which is what the forward kernel wrote; here it is "
        "computed anew",
        ("value", "NaN or infinity", "sign of zero", "gradient: value"),
        of("log_sigmoid_backward"),
        call("log_sigmoid_backward", tensor([1.0]), tensor([1.0]), tensor([5.0])),
    ),
    Allowance(
        "sums that overflow, or whose terms are infinite, are of other terms in PyTorch's formula",
        ("NaN or infinity", "gradient: NaN or infinity", "value", "gradient: value"),
        lambda each, found: each.base in ROUNDED_BACKWARD and non_finite(each),
        call(
            "native_layer_norm_backward",
            tensor([[-inf, 1.0]]),
            tensor([[1.0, 2.0]]),
            [2],
            tensor([[1.5]]),
            tensor([[2.0]]),
            tensor([-1.0, inf]),
            None,
            [True, False, False],
        ),
    ),
    Allowance(
        "squares of float32 are added in float32; PyTorch's in double precision overflow later",
        ("NaN or infinity",),
        lambda each, found: each.base in ("var", "std") and non_finite(each),
        call("std", tensor([-3.4e38, 3.4e38, 1.0]), False),
    ),
    Allowance(
        "expanded tensors are not filled: more than one element shares a place",
        ("raises",),
        lambda each, found: (
            any(one.layout == "expanded" for one in each.tensors())
            and "single memory location" in found.text
        ),
        call("zero_", tensor(np.ones((3, 2)), layout="expanded")),
    ),
    Allowance(
        "weights and targets are broadcast; PyTorch writes into one of them",
        ("PyTorch raises", "gradient: PyTorch raises", "dtype"),
        of("binary_cross_entropy_with_logits"),
        call("binary_cross_entropy_with_logits", tensor([1.0]), tensor(1.0)),
    ),
    Allowance(
        "an integer tensor never requires grad; PyTorch marks it when a number that does is put in",
        ("requires_grad", "gradient: PyTorch raises"),
        of("fill", "masked_fill", "index_put", "copy"),
        call("fill_.Tensor", tensor([1], "int64"), tensor(1.0, grad=1)),
    ),
    Allowance(
        "PyTorch's mask of a dropout of nothing, or without training, is no mask",
        ("dtype", "gradient: value", "value"),
        of("native_dropout"),
        call("native_dropout", tensor(np.ones((0, 3))), 0.5, False),
    ),
    Allowance(
        "the function has other parameters in PyTorch, where it is written in Python or has a "
        "deprecated overload",
        ("PyTorch raises", "raises", "shape"),
        lambda each, found: (
            each.form in ("function", "method") and each.base in WITH_OTHER_PARAMETERS
        ),
        call("index.Tensor", tensor([1.0]), [tensor([0], "int64")], form="method"),
    ),
    Allowance(
        "PyTorch finds no product of bools in a kernel, but some as elementwise products",
        ("raises",),
        of("einsum"),
        call("einsum", "i,i->i", [tensor([True], "bool")] * 2),
    ),
]
"""The table."""

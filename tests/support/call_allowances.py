"""Where calls may differ from PyTorch's, and why: one row for each reason, as narrow as it goes.

The last member of every row is a call that shows it: a test tries whether it still differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan

import numpy as np
from call_descriptions import (
    CONJUGATES,
    LOSSES_OF_INTEGERS,
    OTHER_TERMS,
    RANDOM,
    REFUSALS,
    REFUSED_NUMBERS,
    REORDERED,
    ROUNDED_BACKWARD,
    WITH_OTHER_PARAMETERS,
    call,
    has_complex,
    has_complex_number,
    has_layouts,
    has_nothing,
    is_wide,
    non_finite,
    of,
    tensor,
    writes_out,
)
from call_outcomes import Disagreement
from call_values import Name
from random_calls import Call


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


ORDER_OF_CHECKS = Allowance(
    "of two faults each library finds the one that it looks for first",
    ("exception type", "gradient: exception type"),
    lambda each, found: found.types[0] in REFUSALS and found.types[1] in REFUSALS,
    call("addbmm", *[tensor([1.0])] * 3),
)
ALLOWANCES = [
    ORDER_OF_CHECKS,
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
        "operands in different orders, or expanded ones, give C order, as in NumPy; PyTorch's "
        "results lie as the first operand",
        ("strides",),
        lambda each, found: (
            has_layouts(each)
            and (len(each.tensors()) > 1 or each.tensors()[0].layout == "expanded")
        ),
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
        "PyTorch has some kernels of uint16, uint32 and uint64, by way of shapes or numbers that "
        "need none: here an operator computes in them or does not",
        ("raises", "PyTorch refuses a dtype", "PyTorch raises"),
        lambda each, found: is_wide(each),
        call("pow.Tensor_Scalar", tensor([3], "uint64"), 1),
    ),
    Allowance(
        "a result is cast into out= wherever its category fits, and shares a place there with "
        "another one only if both lie in the tensor that was given",
        ("PyTorch raises", "PyTorch refuses a dtype", "raises", "exception type"),
        lambda each, found: (
            writes_out(each) and found.types[0] in ("", "RuntimeError", "NotImplementedError")
        ),
        call("ceil.out", tensor([1.5]), out=tensor([0.0], "float64")),
    ),
    Allowance(
        "numbers that half precision does not hold are infinite in arithmetic",
        ("PyTorch raises",),
        lambda each, found: (
            any(text in found.text for text in REFUSED_NUMBERS)
            and any(one.dtype in ("float16", "bfloat16", "float32") for one in each.tensors())
        ),
        call("pow.Tensor_Scalar", tensor([0.5], "float16"), 1e10),
    ),
    Allowance(
        "cumsum_ and cumprod_ cast what they scan in another dtype",
        ("PyTorch raises",),
        of("cumsum", "cumprod"),
        call("cumsum_", tensor([1.0]), 0, dtype=Name("float64")),
    ),
    Allowance(
        "a write that has no derivative into a leaf that requires grad is refused, or raises in "
        "backward, where PyTorch makes a leaf of another kind of it",
        ("raises", "requires_grad", "gradient: PyTorch raises"),
        lambda each, found: (
            each.base.endswith("_") and any(one.requires_grad for one in each.tensors())
        ),
        call("logical_or_", tensor([1.0], grad=1), tensor([1.0])),
    ),
    Allowance(
        "gradients of losses of operands that broadcast are divided by the number of terms; "
        "PyTorch divides by that of one operand",
        ("gradient: value", "gradient: NaN or infinity"),
        of("mse_loss", "smooth_l1_loss", "l1_loss"),
        call("mse_loss", tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 3.0], grad=1)),
    ),
    Allowance(
        "products with an infinity, and sums of huge numbers of mixed dtypes, are of other terms",
        ("NaN or infinity", "gradient: NaN or infinity", "value", "gradient: value"),
        lambda each, found: each.base in OTHER_TERMS and non_finite(each),
        call("softplus_backward", tensor(3.4028234663852886e38), tensor(1.182), 2, 20),
    ),
    Allowance(
        "the sign of a zero gradient is that of the formula",
        ("gradient: sign of zero",),
        of("elu_backward", "inner", "gelu_backward", "smooth_l1_loss_backward"),
        call("elu_backward", tensor(0.15), 1.0, 1.0, -2.5, True, tensor([1.4], grad=1)),
    ),
    Allowance(
        "over no dimensions PyTorch's gradient is infinite, and of order 0 it has none",
        ("gradient: value", "gradient: NaN or infinity", "gradient: None"),
        of("std", "var", "linalg_vector_norm", "norm"),
        call("std.dim", tensor([[1.0, 2.0]], grad=1), []),
    ),
    Allowance(
        "weights of integers and 1-D weights, powers of 0 and 1, factors without effect: PyTorch "
        "looks at dtypes and shapes after it has found that there is nothing to do, or not at all",
        ("raises",),
        of("linear", "lerp", "addmv", "addmm", "addbmm", "baddbmm"),
        call("linear", tensor([3.0, 1.0]), tensor([4.0, 1.0]), tensor(4.0)),
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
            tensor([[-1.0, 1.0, 3.0, 1.0]]),
            tensor([[1.0, 2.0, 0.5, -1.0]]),
            [4],
            tensor([[1.5]]),
            tensor([[2.0]]),
            tensor([-0.25, -0.25, -0.25, -inf]),
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
        "expanded tensors are not written but by fill_ and zero_: elements share a place",
        ("raises",),
        lambda each, found: (
            any(one.layout == "expanded" for one in each.tensors())
            and "single memory location" in found.text
        ),
        call("masked_fill_.Scalar", tensor([1.0, 1.0], layout="expanded"), tensor(True, "bool"), 2),
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
        of("fill", "masked_fill", "index_put", "copy", "eq"),
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
        "a Python number may stand for a tensor",
        ("PyTorch raises", "exception type"),
        lambda each, found: any(isinstance(one, int | float) for one in each.args[:2]),
        call("maximum", 2, 3, form="function"),
    ),
    Allowance(
        "parameters and overloads that are not declared here",
        ("raises", "exception type"),
        lambda each, found: each.form == "function" and found.text.startswith("TypeError"),
        call("round", tensor([1.25]), form="function", decimals=1),
    ),
    Allowance(
        "the nuclear norm is not here",
        ("raises",),
        lambda each, found: "'nuc' is not implemented" in found.text,
        call("norm", tensor([[1.0]]), "nuc", form="function"),
    ),
    Allowance(
        "PyTorch has no derivative of a real number beside a complex dtype",
        ("gradient: PyTorch raises",),
        lambda each, found: "isFloatingType" in found.text,
        call("mean.dim", tensor([1.0], grad=1), [0], dtype=Name("complex64")),
    ),
    Allowance(
        "PyTorch computes half precision beside complex numbers in complex numbers of half "
        "precision, which most of its kernels have not",
        ("PyTorch refuses a dtype",),
        lambda each, found: "ComplexHalf" in found.text,
        call("div.Scalar_mode", tensor([1.0], "float16"), 0j, rounding_mode=None),
    ),
    Allowance(
        "a complex order or bound without imaginary part is its real part, or refused, each where "
        "PyTorch does the other",
        ("PyTorch raises", "raises"),
        lambda each, found: has_complex_number(each),
        call("norm.Scalar", tensor(0.75), 0j),
    ),
    Allowance(
        "over no dimensions logsumexp is the operand; PyTorch refuses most tensors",
        ("PyTorch raises",),
        of("logsumexp"),
        call("logsumexp", tensor([1.0]), []),
    ),
    Allowance(
        "parameters of draws that are NaN or infinite give NaN",
        ("PyTorch raises",),
        lambda each, found: each.base in RANDOM and non_finite(each),
        call("normal_", tensor([1.0]), 0.5, nan),
    ),
    Allowance(
        "dtype=None of an overload means the default of its schema",
        ("dtype",),
        of("randint"),
        call("randint", 5, [1], dtype=None),
    ),
    Allowance(
        "the sign of a zero that is too small for the dtype, or of a dropped integer, is kept",
        ("sign of zero", "gradient: sign of zero"),
        of("gelu", "native_dropout_backward", "softmax", "log_softmax"),
        call("native_dropout_backward", tensor([-1], "int64"), tensor([False], "bool"), 2.0),
    ),
    Allowance(
        "no index at all, and a mask without dimensions, are internal errors of PyTorch",
        ("PyTorch raises",),
        lambda each, found: "INTERNAL ASSERT" in found.text or "undefined Tensor" in found.text,
        call("index_put", tensor([1.0]), [], tensor([2.0])),
    ),
    Allowance(
        "bools are clamped by tensors, as by one of them in PyTorch",
        ("PyTorch refuses a dtype",),
        of("clamp", "clip"),
        call("clamp.Tensor", *[tensor([True], "bool")] * 3),
    ),
    Allowance(
        "what is not a view of the tensor is a copy",
        ("PyTorch raises",),
        of("_unsafe_view"),
        call("_unsafe_view", tensor(np.ones((2, 3)), layout="transposed"), [6]),
    ),
    Allowance(
        "PyTorch finds no product of bools in a kernel, but some as elementwise products",
        ("raises",),
        of("einsum"),
        call("einsum", "i,i->i", [tensor([True], "bool")] * 2),
    ),
]
"""The table."""

"""Calls that one library refuses and the other takes, or that they refuse in other ways."""

from __future__ import annotations

import numpy as np
from call_allowance import Allowance
from call_descriptions import (
    DTYPES_OF_OUT,
    FAILED_DERIVATIVES,
    INTERNAL_ERRORS,
    LOOKED_AT,
    LOSSES_OF_INTEGERS,
    OF_WIDE_UNSIGNED,
    RANDOM,
    REFUSALS,
    REFUSED_NUMBERS,
    TAKEN_HERE,
    call,
    has_complex,
    has_nothing,
    is_wide,
    is_worded,
    of,
    tensor,
    writes_out,
)
from call_values import Name

REFUSALS_THAT_DIFFER = [
    Allowance(
        "all convolutions take all numbers; PyTorch has small integers in some of them only",
        ("PyTorch refuses a dtype", "PyTorch raises"),
        lambda each, found: each.base.startswith(("conv", "_conv")) and "not impl" in found.text,
        call("conv_transpose1d", tensor([[[1, 2]]], "int32"), tensor([[[1, 3]]], "int32")),
    ),
    Allowance(
        "pooling along lines takes integers, as that of images does",
        ("PyTorch refuses a dtype", "PyTorch raises"),
        lambda each, found: each.base == "max_pool1d" and "not impl" in found.text,
        call("max_pool1d", tensor([[[1, 2]]], "int64"), (1,)),
    ),
    Allowance(
        "averages are taken of all real numbers; PyTorch has some dtypes in some of them only",
        ("PyTorch refuses a dtype", "PyTorch raises"),
        lambda each, found: each.base.startswith("avg_pool") and "not impl" in found.text,
        call("avg_pool1d", tensor([[[1, 2]]], "int32"), (1,)),
    ),
    Allowance(
        "randperm refuses dtypes in which numbers would repeat; PyTorch does not for bfloat16",
        ("raises",),
        lambda each, found: each.base == "randperm" and "would repeat" in found.text,
        call("randperm", 300, dtype=Name("bfloat16")),
    ),
    Allowance(
        "native_channel_shuffle has a derivative",
        ("gradient: PyTorch raises",),
        lambda each, found: each.base == "native_channel_shuffle",
        call("native_channel_shuffle", tensor([[[1.0], [2.0]]], grad=1), 2),
    ),
    Allowance(
        "memory is not pinned: pin_memory is taken and has no effect, as on a PyTorch with an "
        "accelerator that has it",
        ("PyTorch raises",),
        lambda each, found: bool(each.kwargs.get("pin_memory")),
        call("zeros", [2], pin_memory=True),
    ),
    Allowance(
        "PyTorch reads the first of several elements without looking",
        ("raises",),
        of("_local_scalar_dense"),
        call("_local_scalar_dense", tensor([1.0, 2.0])),
    ),
    Allowance(
        "there is a derivative here and none in PyTorch, or none of half precision",
        ("gradient: PyTorch raises", "gradient: PyTorch refuses a dtype"),
        of(
            *["hardsigmoid_backward", "mish_backward", "silu_backward", "_chunk_cat"],
            *["logit_backward", "_sample_dirichlet", "special_i1e", "special_i1"],
        ),
        call("silu_backward", tensor([1.0]), tensor([1.0], grad=1)),
    ),
    Allowance(
        "what has no derivative says so in backward; PyTorch's special functions and polynomials "
        "without one give constants",
        ("requires_grad",),
        lambda each, found: each.base.startswith("special_"),
        call("special_airy_ai", tensor([1.0], grad=1)),
    ),
    Allowance(
        "a mask is of bools; PyTorch indexes by any, without looking",
        ("raises",),
        lambda each, found: each.base == "_unsafe_masked_index" and "must be bool" in found.text,
        call("_unsafe_masked_index", tensor([1.0, 2.0]), tensor([1.0]), [tensor([1], "int64")], 0),
    ),
    Allowance(
        "a mask of attention broadcasts, "
        "as many sizes as given resample an image, and normal has a dtype beside out=, too",
        ("PyTorch raises",),
        lambda each, found: any(text in found.text for text in TAKEN_HERE),
        call(
            "scaled_dot_product_attention",
            *[tensor(np.ones((2, 3, 4)))] * 3,
            tensor(np.ones((5, 2, 3, 3))),
        ),
    ),
    Allowance(
        "derivatives of functions promote and broadcast their operands",
        ("PyTorch raises",),
        of(
            *["_standard_gamma_grad", "_dirichlet_grad", "mish_backward", "glu_backward"],
            *["gelu_backward", "nll_loss2d_backward", "native_group_norm_backward"],
        ),
        call("_standard_gamma_grad", tensor([1], "int64"), tensor([1.0])),
    ),
    Allowance(
        "elements are looked up whatever their strides",
        ("PyTorch raises",),
        lambda each, found: (
            each.base in ("isin", "take_along_dim", "kron")
            and "view size is not compat" in found.text
        ),
        call(
            "isin.Scalar_Tensor",
            1.0,
            tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], layout="transposed"),
        ),
    ),
    Allowance(
        "elements of all dtypes are looked up; PyTorch has neither bools nor complex numbers",
        ("PyTorch raises",),
        lambda each, found: each.base == "isin" and "Unsupported input type" in found.text,
        call("isin.Scalar_Tensor", True, tensor([[0]], "int64")),
    ),
    Allowance(
        "losses have a derivative by the target",
        ("PyTorch raises",),
        of("soft_margin_loss"),
        call("soft_margin_loss", tensor([1.0]), tensor([1.0], grad=1)),
    ),
    Allowance(
        "windows without a step are a RuntimeError here as they are in unfold",
        ("exception type",),
        of("unfold_backward"),
        call("unfold_backward", tensor([1.0]), [], 0, 1, 0),
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
        ("raises", "PyTorch refuses a dtype", "PyTorch raises", "gradient: raises"),
        lambda each, found: is_wide(each) and any(text in found.text for text in OF_WIDE_UNSIGNED),
        call("pow.Tensor_Scalar", tensor([3], "uint64"), 1),
    ),
    Allowance(
        "uint16, uint32 and uint64 promote with other integers, as in NumPy",
        ("PyTorch raises", "PyTorch refuses a dtype"),
        lambda each, found: "Promotion for uint16" in found.text,
        call("add.Tensor", tensor([3], "uint16"), tensor([3], "int8")),
    ),
    Allowance(
        "the imaginary part of a real tensor is zero, as in NumPy",
        ("PyTorch refuses a dtype",),
        of("imag"),
        call("imag", tensor([1.5])),
    ),
    Allowance(
        "composites cast their result into out= if its category fits; out= may be broadcast memory "
        "that all results agree on",
        ("PyTorch raises", "PyTorch refuses a dtype", "exception type"),
        lambda each, found: writes_out(each) and any(text in found.text for text in DTYPES_OF_OUT),
        call("absolute.out", tensor([1.5]), out=tensor([0.0], "float64")),
    ),
    Allowance(
        "out= that is a view does not grow: others show its memory",
        ("raises", "exception type"),
        lambda each, found: writes_out(each) and "Trying to resize storage" in found.text,
        call("ceil.out", tensor([1.5]), out=tensor(np.zeros((0,)), layout="stepped")),
    ),
    Allowance(
        "a result that cannot be cast into out= is refused even where PyTorch has another kernel",
        ("raises",),
        lambda each, found: writes_out(each) and "can't be cast to the desired" in found.text,
        call("cumprod.out", tensor(True, "bool"), 0, out=tensor(True, "bool")),
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
        "expanded tensors are not written but by fill_ and zero_: elements share a place",
        ("raises",),
        lambda each, found: (
            any(one.layout == "expanded" for one in each.tensors())
            and "single memory location" in found.text
        ),
        call("masked_fill_.Scalar", tensor([1.0, 1.0], layout="expanded"), tensor(True, "bool"), 2),
    ),
    Allowance(
        "PyTorch has no derivative of a real number beside a complex dtype",
        ("gradient: PyTorch raises", "gradient: PyTorch refuses a dtype"),
        lambda each, found: "isFloatingType" in found.text or "lt_cpu" in found.text,
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
        "over no dimensions logsumexp is the operand; PyTorch refuses most tensors",
        ("PyTorch raises",),
        of("logsumexp", "special_logsumexp"),
        call("logsumexp", tensor([1.0]), []),
    ),
    Allowance(
        "no index at all, a mask without dimensions, and statistics of nothing are internal errors "
        "of PyTorch",
        ("PyTorch raises", "exception type"),
        lambda each, found: any(text in found.text for text in INTERNAL_ERRORS),
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
        "a result of integers does not require grad, as that of a conversion; PyTorch refuses to "
        "record the operator",
        ("PyTorch raises",),
        lambda each, found: "Autograd not support dtype" in found.text,
        call("prod", tensor([1.0], grad=1), dtype=Name("int64")),
    ),
    Allowance(
        "addcdiv divides integers truly beside a self of floating point; PyTorch will",
        ("PyTorch raises",),
        lambda each, found: "addcdiv" in each.base and "Integer division with" in found.text,
        call("addcdiv", tensor([1.0]), tensor([1], "int64"), tensor([2], "int64")),
    ),
    Allowance(
        "PyTorch's derivative fails at the shape or dtype of its own gradient",
        ("gradient: PyTorch raises",),
        lambda each, found: any(text in found.text for text in FAILED_DERIVATIVES),
        call("clamp.Tensor", tensor(0.2), tensor(1.4, grad=1), tensor([-0.4] * 3, grad=1)),
    ),
    Allowance(
        "a factor of 1 is none, whatever its type",
        ("PyTorch raises",),
        lambda each, found: each.kwargs.get("alpha") == 1 and "argument alpha" in found.text,
        call("sub.Tensor", tensor(4, "int16"), tensor(1, "int16"), alpha=1.0),
    ),
    Allowance(
        "what PyTorch takes for no reduction, or for no smoothing, is refused",
        ("raises",),
        lambda each, found: any(text in found.text for text in ("is not a reduction", "Got: nan")),
        call("binary_cross_entropy_with_logits", *[tensor([1.0])] * 2, None, None, 3),
    ),
    Allowance(
        "a sum of integers of one operand of einsum alone is int64, and so becomes the other one, "
        "which PyTorch refuses to multiply with it",
        ("PyTorch raises",),
        lambda each, found: each.base == "einsum" and "expected scalar type" in found.text,
        call("einsum", "ij,ij->", [tensor([[1, 2]], "int8"), tensor([[1, 2], [3, 4]], "int8")]),
    ),
    Allowance(
        "one number of linspace needs no kernel",
        ("raises",),
        lambda each, found: each.base == "linspace" and "for 'Bool'" in found.text,
        call("linspace", 1, 1, 1, dtype=Name("bool")),
    ),
    Allowance(
        "operands of other dtypes, modes without a name and parameters outside of their domain are "
        "refused; PyTorch looks at them in some of its kernels only",
        ("raises",),
        of(*LOOKED_AT),
        call("grid_sampler_2d", tensor([[[[1.0]]]]), tensor([[[[0.0, 0.0]]]]), 1, 3, False),
    ),
    Allowance(
        "operators of PyTorch without a derivative raise in backward; there is one here, zero",
        ("gradient: PyTorch raises",),
        of("bernoulli", "_linalg_svd"),
        call("bernoulli.p", tensor([1.0], grad=1), 1.0),
    ),
    Allowance(
        "what PyTorch has for GPUs alone, or for no tensors that require grad, or of four "
        "dimensions, is here for all: fused cells, softmax in single precision, complex copies, "
        "attention",
        ("PyTorch raises", "PyTorch refuses a dtype"),
        of(
            *["_thnn_fused_lstm_cell", "_thnn_fused_gru_cell", "_softmax", "_log_softmax"],
            *["view_as_complex_copy", "_scaled_dot_product_flash_attention_for_cpu"],
        ),
        call("_softmax", tensor([1.0, 2.0], "float16"), 0, True),
    ),
    Allowance(
        "a gradient of one number is one of a row of one",
        ("PyTorch raises",),
        of("_ctc_loss_backward"),
        call(
            "_ctc_loss_backward",
            tensor([1.0], "float64"),
            tensor([[[-1.0, -1.0]]], "float64"),
            tensor([[1]], "int64"),
            [1],
            [1],
            tensor(1.0, "float64"),
            tensor([[[-1.0, -1.0, -1.0]]], "float64"),
            1,
            True,
        ),
    ),
]
LAST = [
    Allowance(
        "that out= has no gradient, and that statistics come in pairs, is looked at first",
        ("exception type",),
        lambda each, found: any(text in found.text for text in ("out=... argu", "both be None")),
        call(
            "batch_norm", *[tensor([[1.0]])] * 2, None, tensor([1.0, 2.0]), None, True, 0, 0, False
        ),
    ),
    Allowance(
        "PyTorch looks at no dtype, and at few sizes, where there are no elements",
        ("raises", "PyTorch raises", "dtype", "exception type", "PyTorch refuses a dtype"),
        lambda each, found: has_nothing(each) and is_worded(found),
        call("mm", tensor(np.zeros((2, 0)), "bool"), tensor(np.zeros((0, 2)), "bool")),
    ),
    Allowance(
        "of two faults each library finds the one that it looks for first",
        ("exception type", "gradient: exception type"),
        lambda each, found: set(found.types) <= set(REFUSALS) and is_worded(found),
        call("addbmm", *[tensor([1.0])] * 3),
    ),
]
"""Rows that take what no other one takes."""

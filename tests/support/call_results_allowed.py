"""Calls whose results, or gradients, may differ from those of PyTorch."""

from __future__ import annotations

from math import inf, nan

import numpy as np
from call_allowance import Allowance
from call_descriptions import (
    CONJUGATES,
    OF_LAPACK,
    OTHER_TERMS,
    ROUNDED_BACKWARD,
    SUMS_OF_WEIGHTED,
    WITH_OTHER_PARAMETERS,
    ZEROS_OF_SUMS,
    call,
    has_complex,
    has_integers,
    has_layouts,
    has_tiny,
    has_zero,
    is_unsorted,
    non_finite,
    of,
    tensor,
    writes_out,
)

RESULTS_THAT_DIFFER = [
    Allowance(
        "derivatives of gamma and beta numbers by their parameters are right to more digits than "
        "PyTorch's four, and NaN where the numbers cannot have been drawn",
        ("value", "NaN or infinity"),
        of("_standard_gamma_grad", "_dirichlet_grad"),
        call("_standard_gamma_grad", tensor([8.0], "float64"), tensor([2.43], "float64")),
    ),
    Allowance(
        "infinite complex numbers, and powers and roots of 0, are computed as C and NumPy do it, "
        "which is another way than that of std::complex",
        ("NaN or infinity", "gradient: NaN or infinity"),
        lambda each, found: has_complex(each) and (non_finite(each) or has_zero(each)),
        call("pow.Scalar", 0, tensor([-2.65 + 0.6j], "complex64")),
    ),
    Allowance(
        "the gradient of silu is that with the conjugate of its derivative; PyTorch's operator "
        "leaves the conjugate out, and has no derivative of silu that would call it",
        ("value",),
        lambda each, found: each.base == "silu_backward" and has_complex(each),
        call("silu_backward", tensor([1j], "complex64"), tensor([1 - 1j], "complex64")),
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
        "some results of operands in different orders, or expanded ones, lie in the order of an "
        "operand and in C order in PyTorch, or the other way round",
        ("strides",),
        lambda each, found: (
            has_layouts(each)
            and (len(each.tensors()) > 1 or each.tensors()[0].layout == "expanded")
        ),
        call(
            "special_chebyshev_polynomial_v.x_scalar",
            1.0,
            tensor(np.ones((2, 2, 3)), layout="expanded"),
        ),
    ),
    Allowance(
        "a packet of stft tries the overload of the public function first, which pads",
        ("shape", "value"),
        lambda each, found: each.base == "stft" and each.form == "packet",
        call("stft", tensor(np.ones((2, 17))), 6, return_complex=True, form="packet"),
    ),
    Allowance(
        "equal elements may be sorted in any order: here in that of their places",
        ("value",),
        of("argsort", "sort", "topk"),
        call("argsort", tensor([True, False] * 8 + [True], "bool")),
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
        ("NaN or infinity", "gradient: NaN or infinity"),
        lambda each, found: each.base in OTHER_TERMS and non_finite(each),
        call("softplus_backward", tensor(3.4028234663852886e38), tensor(1.182), 2, 20),
    ),
    Allowance(
        "the sign of a zero is that of the formula, or of the order in which terms are added",
        ("gradient: sign of zero", "sign of zero"),
        of("elu_backward", "inner", "gelu_backward", "smooth_l1_loss_backward", *ZEROS_OF_SUMS),
        call("elu_backward", tensor(0.15), 1.0, 1.0, -2.5, True, tensor([1.4], grad=1)),
    ),
    Allowance(
        "over no dimensions PyTorch's gradient is infinite, and of order 0 it has none",
        ("gradient: value", "gradient: NaN or infinity", "gradient: None"),
        of("std", "var", "linalg_vector_norm", "norm"),
        call("std.dim", tensor([[1.0, 2.0]], grad=1), []),
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
            tensor([[1e30]]),
            tensor([1.0, 1.0, 1.0, 1.0]),
            None,
            [True, False, False],
        ),
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
        ("PyTorch raises", "raises", "shape", "exception type", "value"),
        lambda each, found: (
            each.form in ("function", "method") and each.base in WITH_OTHER_PARAMETERS
        ),
        call("index.Tensor", tensor([1.0]), [tensor([0], "int64")], form="method"),
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
        "there are no complex numbers of half precision",
        ("raises", "dtype"),
        lambda each, found: (
            any(one.dtype == "float16" for one in each.tensors())
            and (each.base.startswith("view_as_complex") or "complex32" in found.text)
        ),
        call("view_as_complex", tensor([[1.0, 2.0]], "float16")),
    ),
    Allowance(
        "what a later write at the same index replaces has no gradient",
        ("gradient: value",),
        of("put_", "put", "scatter", "scatter_", "index_put", "index_put_"),
        call("put_", tensor([0.5, 0.25]), tensor([1, 1], "int64"), tensor([1.0, 2.0], grad=1)),
    ),
    Allowance(
        "functions of integers are computed in the default dtype, whatever out= is",
        ("value",),
        lambda each, found: (
            each.base.startswith(("logsumexp", "fft_", "special_bessel", "special_modified"))
            and has_integers(each)
            and writes_out(each)
        ),
        call("logsumexp.out", tensor([1, 1, 1], "int64"), 0, out=tensor(2.0, "float64")),
    ),
    Allowance(
        "gradients of losses of operands that broadcast are divided by the number of terms",
        ("value",),
        lambda each, found: (
            each.base == "mse_loss_backward"
            and len({one.values.shape for one in each.tensors()[1:]}) > 1
        ),
        call("mse_loss_backward", tensor(1.0), tensor([1.0]), tensor([2.0, 3.0]), 1),
    ),
    Allowance(
        "transforms of Fourier lie in C order, and the sign of a zero is that of NumPy's sums",
        ("strides", "sign of zero"),
        lambda each, found: each.base.startswith(("fft_", "_fft_")),
        call(
            "fft_fftn", tensor([[-2.0, 2.0], [-2.0, -2.0], [-1.0, -1.0], [-2.0, 2.0], [0.0, 0.0]])
        ),
    ),
    Allowance(
        "polynomials of NaN are NaN but for degree 0; PyTorch reads numbers that it has not "
        "written, and sums up another way, which overflows elsewhere",
        ("NaN or infinity",),
        lambda each, found: "_polynomial_" in each.base,
        call("special_laguerre_polynomial_l", tensor([nan]), tensor([2.0])),
    ),
    Allowance(
        "interpolations, matrix functions and slopes with infinite or huge numbers: zero weights "
        "times infinity are NaN wherever the terms are counted",
        ("NaN or infinity", "value"),
        lambda each, found: each.base.startswith(SUMS_OF_WEIGHTED) and non_finite(each),
        call("matrix_exp", tensor([[1.0, 0.0], [0.0, -inf]])),
    ),
    Allowance(
        "the sign of a zero is that of the formula",
        ("sign of zero",),
        of("softshrink", "_linalg_svd", "special_legendre_polynomial_p"),
        call("softshrink", tensor(-0.25, "float64")),
    ),
    Allowance(
        "integers beside doubles are computed in double precision; PyTorch rounds them to single",
        ("value",),
        of("hardsigmoid_backward"),
        call("hardsigmoid_backward", tensor(-2147483647, "int32"), tensor(1.0, "float64")),
    ),
    Allowance(
        "polar numbers of a negative size have the derivative of their formula; PyTorch takes the "
        "size for positive",
        ("gradient: value",),
        of("polar"),
        call("polar", tensor([-1.0], grad=1), tensor([0.5])),
    ),
    Allowance(
        "PyTorch reads weights of groups without their strides",
        ("value", "NaN or infinity"),
        lambda each, found: each.base == "native_group_norm" and has_layouts(each),
        call(
            "native_group_norm",
            tensor([[[1.0, 2.0], [3.0, 5.0]]]),
            tensor([3.0, 3.0], layout="expanded"),
            None,
            1,
            2,
            2,
            1,
            1e-5,
        ),
    ),
    Allowance(
        "the trigamma function is infinite at its poles; PyTorch reflects rounded numbers",
        ("gradient: NaN or infinity", "gradient: value", "NaN or infinity", "value"),
        of("special_psi", "digamma", "special_digamma", "polygamma", "special_polygamma"),
        call("digamma", tensor([-1.0], grad=1)),
    ),
    Allowance(
        "slopes over coordinates of single precision are computed in that of the values",
        ("value",),
        of("gradient"),
        call(
            "gradient.tensorarray",
            tensor([1.0, 2.5, 4.0, 7.0], "float64"),
            spacing=[tensor([-0.336, 0.283, 0.966, 2.0], "float32")],
            dim=[0],
        ),
    ),
    Allowance(
        "sums of bags come with what their backward reads in every mode; PyTorch leaves some of it "
        "out, or zero, where a sum needs none",
        ("value", "shape"),
        lambda each, found: each.base in ("embedding_bag", "_embedding_bag"),
        call(
            "embedding_bag", tensor([[1.0], [2.0]]), tensor([0, 1], "int64"), tensor([0], "int64")
        ),
    ),
    Allowance(
        "singular vectors may be multiplied by -1 in pairs",
        ("value",),
        of("linalg_svd", "_linalg_svd", "svd"),
        call(
            "_linalg_svd",
            tensor(
                [
                    [2.160050392150879, 0.03703955560922623, -0.2476562261581421],
                    [1.1321488618850708, -0.2886882424354553, 2.929431915283203],
                ]
            ),
        ),
    ),
    Allowance(
        "bytes are rounded once in an interpolation; PyTorch rounds after each dimension",
        ("value",),
        lambda each, found: (
            "upsample_bi" in each.base and any(one.dtype == "uint8" for one in each.tensors())
        ),
        call(
            "upsample_bicubic2d.vec",
            tensor([[[[0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]]]], "uint8"),
            [6, 6],
            False,
            None,
        ),
    ),
    Allowance(
        "the function itself is not computed by one that overflows or is wrong on the way: "
        "hardswish of the greatest number, the gamma function of a subnormal order, the zeta "
        "function of an infinite one, Chebyshev polynomials of a degree beyond 31 bits, a Bessel "
        "function of a subnormal number, powers of "
        "a start that is not an integer, slopes of an infinite range",
        ("NaN or infinity", "value", "gradient: NaN or infinity"),
        of(
            *["hardswish", "igamma", "igammac", "special_gammainc", "special_gammaincc"],
            *["special_zeta", "special_chebyshev_polynomial_u", "logspace", "linspace", "histc"],
            *["special_chebyshev_polynomial_v", "special_modified_bessel_k1"],
        ),
        call("hardswish", tensor([1.7976931348623157e308], "float64")),
    ),
    Allowance(
        "means and deviations with infinite or huge numbers are those of the definition; PyTorch "
        "updates running ones, which become NaN or overflow elsewhere",
        ("NaN or infinity",),
        lambda each, found: (
            each.base in ("var_mean", "std_mean", "var", "std") and non_finite(each)
        ),
        call("var_mean", tensor([inf, 1.0, 2.0])),
    ),
    Allowance(
        "matrices with infinite numbers, or with such whose inverse is, are eliminated in another "
        "order",
        ("NaN or infinity", "value", "gradient: NaN or infinity"),
        lambda each, found: each.base in OF_LAPACK and (non_finite(each) or has_tiny(each)),
        call(
            "linalg_det",
            tensor([[3.0, 20.0, 0.5], [-inf, -0.5, -1.0], [inf, -0.5, -5e-324]], "float64"),
        ),
    ),
    Allowance(
        "the derivative divides by the weight that is given; PyTorch's by that of the targets",
        ("gradient: value",),
        of("nll_loss_backward"),
        call(
            "nll_loss_backward",
            tensor(1.0, grad=1),
            tensor([[1.0, 2.0]]),
            tensor([0], "int64"),
            *(None, 1, -100),
            tensor(3.0),
        ),
    ),
    Allowance(
        "powers of two of negative integers are fractions; PyTorch's derivative takes them for 0",
        ("gradient: value",),
        of("ldexp"),
        call("ldexp.Tensor", tensor([1.0], grad=1), tensor([-2], "int64")),
    ),
    Allowance(
        "boundaries that are not sorted are searched in another order",
        ("value",),
        lambda each, found: each.base in ("bucketize", "searchsorted") and is_unsorted(each),
        call("bucketize.Tensor", tensor([0.5, 1.5, 5.0]), tensor([1.0, 0.0, 7.0, 2.0, 9.0, 3.0])),
    ),
    Allowance(
        "an operand without effect, as that of a factor of 0, leaves the result a constant",
        ("requires_grad",),
        of(
            *["addr", "detach_copy", "_unsafe_masked_index_put_accumulate", "cumulative_trapezoid"],
            "triangular_solve",
        ),
        call("detach_copy", tensor([1.0], grad=1)),
    ),
]

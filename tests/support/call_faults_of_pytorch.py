"""Calls whose results, or gradients, are wrong in PyTorch, or less exact."""

from __future__ import annotations

from math import inf

from call_allowance import Allowance
from call_descriptions import call, has_complex, non_finite, of, tensor

FAULTS_OF_PYTORCH = [
    Allowance(
        "medians of expanded tensors are those of their elements; PyTorch reads and writes beyond",
        ("value", "NaN or infinity"),
        lambda each, found: (
            each.base in ("median", "nanmedian") and each.tensors()[0].layout == "expanded"
        ),
        call("median.dim", tensor([0.5] * 3, layout="expanded"), -1),
    ),
    Allowance(
        "factors of Cholesky have real diagonals, so that imaginary parts there have the gradient "
        "0; PyTorch's has the one of a complex diagonal",
        ("gradient: value",),
        lambda each, found: "cholesky" in each.base and has_complex(each),
        call("linalg_cholesky_ex", tensor([[3, 1 - 1j], [1 + 1j, 2]], "complex128", grad=1)),
    ),
    Allowance(
        "the inverse of a matrix of a Cholesky factor has a gradient for the triangle that is read",
        ("gradient: value", "sign of zero"),
        of("cholesky_inverse"),
        call("cholesky_inverse", tensor([[-2.5, 0.25], [1.25, -3.0]], grad=1)),
    ),
    Allowance(
        "a mask of bools says which places count; below its public function PyTorch adds it as "
        "numbers",
        ("value", "NaN or infinity"),
        lambda each, found: (
            each.base == "_scaled_dot_product_attention_math"
            and any(one.dtype == "bool" for one in each.tensors())
        ),
        call(
            "_scaled_dot_product_attention_math",
            *[tensor([[[1.0, 2.0]], [[3.0, 4.0]]])] * 3,
            tensor([[False]], "bool"),
        ),
    ),
    Allowance(
        "i0 is finite where exp is not",
        ("NaN or infinity",),
        of("i0", "special_i0"),
        call("i0", tensor([90.0])),
    ),
    Allowance(
        "powers of matrices in half precision do not overflow on the way to the exponential",
        ("NaN or infinity", "value"),
        lambda each, found: (
            "matrix_exp" in each.base and each.tensors()[0].dtype in ("float16", "bfloat16")
        ),
        call(
            "matrix_exp",
            tensor([[-0.1142578125, 0.76318359375], [-0.34716796875, 2.3671875]], "float16"),
        ),
    ),
    Allowance(
        "transforms with infinite or huge numbers add them in another order",
        ("NaN or infinity", "gradient: NaN or infinity"),
        lambda each, found: each.base.startswith(("fft_", "_fft")) and non_finite(each),
        call("fft_ifft", tensor([1e-38, 1.5, 0.5, -inf, 3.0, 20.0])),
    ),
    Allowance(
        "what is scattered leaves no gradient where it lies, also without dimensions",
        ("gradient: value",),
        of("as_strided_scatter"),
        call("as_strided_scatter", tensor([1.0, 2.0], grad=1), tensor(3.0), (), ()),
    ),
    Allowance(
        "rows of attention may lie apart; PyTorch reads what lies between them",
        ("value", "NaN or infinity"),
        lambda each, found: (
            each.base == "_scaled_dot_product_flash_attention_for_cpu"
            and any(one.layout != "contiguous" for one in each.tensors())
        ),
        call(
            "_scaled_dot_product_flash_attention_for_cpu",
            *[tensor([[[[1.0, 2.0], [3.0, 5.0]]]])] * 2,
            tensor([[[[1.0, 2.0], [3.0, 5.0]]]], layout="transposed"),
        ),
    ),
]

"""What can be said of random calls: which dtypes, numbers and layouts they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from call_outcomes import Disagreement
from call_values import COMPLEXES, WIDE_UNSIGNED, Name, TensorValue, as_dtype
from random_calls import Call

from dovetail import ops

REFUSED_NUMBERS = ("value cannot be converted", "is out of bounds", "out of bounds for")
FACTORIES = ("arange", "eye", "linspace", "randperm", "randint", "bernoulli", "bernoulli_")
RANDOM = ("dropout", "native_dropout", "native_dropout_backward", *FACTORIES, "normal_", "uniform_")
REFUSALS = ("RuntimeError", "IndexError", "NotImplementedError")
ROUNDED_BACKWARD = ("native_layer_norm_backward", "layer_norm", "native_layer_norm")
CONJUGATES = ("conj", "adjoint", "mH", "matrix_H", "resolve_conj", "vdot")
OTHER_TERMS = (
    *["softplus_backward", "mse_loss_backward", "smooth_l1_loss_backward", "sigmoid_backward"],
    *["tanh_backward", "_prelu_kernel_backward", "elu_backward", "prod", "fmod", "remainder"],
    *["linalg_vector_norm", "norm", "_softmax_backward_data", "_log_softmax_backward_data"],
    *["addcmul", "addcdiv", "lerp", "logsumexp", "cumsum", "cumprod", "mse_loss"],
    *["matmul", "mm", "bmm", "mv", "addmm", "addmv", "addbmm", "baddbmm", "einsum", "linear"],
    *["dot", "inner", "outer", "gelu_backward", "silu_backward", "sum", "mean"],
    *["_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"],
    *["_upsample_bilinear2d_aa_backward", "_upsample_bicubic2d_aa_backward"],
)
OF_LAPACK = (
    *["linalg_svd", "orgqr", "linalg_householder_product", "cholesky_inverse", "qr", "linalg_qr"],
    *["_lu_with_info", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_cholesky", "cholesky"],
    *["linalg_cholesky_ex", "cholesky_solve", "inverse", "linalg_inv", "linalg_ldl_factor"],
    *["linalg_ldl_factor_ex", "triangular_solve", "linalg_eigh", "linalg_eig", "svd", "linalg_lu"],
    *["_linalg_svd", "_linalg_eigh", "_linalg_solve_ex", "linalg_solve", "lstsq", "lu_solve"],
    *["linalg_solve_triangular", "linalg_inv_ex", "linalg_pinv", "linalg_lstsq"],
    *["geqrf", "linalg_tensorinv", "segment_reduce", "matrix_power"],
    *["linalg_cond", "linalg_lu_solve", "linalg_eigvals", "linalg_eigvalsh"],
    *["linalg_ldl_solve", "linalg_det", "det", "logdet", "linalg_slogdet", "slogdet"],
)
LOOKED_AT = (
    *["_histogramdd_bin_edges", "conv3d", "conv2d", "conv1d", "grid_sampler_2d", "grid_sampler_3d"],
    *["rnn_tanh_cell", "rnn_relu_cell", "lstm_cell", "gru_cell", "linalg_solve_triangular"],
    *["linalg_eigvals", "_sample_dirichlet", "_standard_gamma", "affine_grid_generator"],
    *["feature_dropout", "hinge_embedding_loss", "_lu_with_info", "unfold_backward"],
    *["gradient", "conv_transpose2d", "take_along_dim", "embedding_bag", "embedding_renorm"],
    *["_ctc_loss", "_ctc_loss_backward", "ctc_loss", "_unsafe_masked_index_put_accumulate"],
    *["_native_batch_norm_legit_no_training", "_batch_norm_with_update"],
)
SUMS_OF_WEIGHTED = ("upsample_", "_upsample_", "matrix_exp", "linalg_matrix_exp", "gradient")
LOSSES_OF_INTEGERS = ("mse_loss", "mse_loss_backward", "smooth_l1_loss_backward", "smooth_l1_loss")
DTYPES_OF_OUT = (
    *["Expected out tensor to have", "only supports bool tensor for result", "Found dtype"],
    *["must have the same scalar type", "more than one element of the written-to"],
    *["input and out to match", "self and out expected", "expects Long tensor out"],
    *["output tensor's dtype is wrong", "to have the same type as tensor for argument"],
    *["does not support non-boolean outputs", "output values must be of same type as input"],
    *["expected scalar type", "expected scalar_type", "Promotion for uint16"],
    *["the operation's result requires dtype", "expects a floating point output tensor"],
)
OF_WIDE_UNSIGNED = ("not implemented for 'UInt", "'UInt16'", "'UInt32'", "'UInt64'")
FAILED_DERIVATIVES = (
    *["doesn't match the broadcast shape", "can't be cast to the desired output", "size mismatch"],
    "modified by an inplace operation",
)
RAW_ERRORS = (
    *["tuple index out of", "list index out of", "operands could not be broadcast", "axis "],
    *["cannot reshape array", "zip()", "ufunc", "could not broadcast input", "has no attribute"],
)
"""Words of Python and NumPy, which errors of operators do not use."""
ZEROS_OF_SUMS = (
    *["mm", "softplus_backward", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"],
    *["native_layer_norm_backward", "tensordot", "_convolution", "upsample_linear1d"],
    *["logcumsumexp", "upsample_linear1d_backward", "upsample_bilinear2d_backward"],
    *["upsample_trilinear3d_backward", "upsample_bicubic2d_backward", "stft", "logdet"],
    *["cross_entropy_loss", "gradient", "cumulative_trapezoid"],
)
TAKEN_HERE = (
    *["doesn't match the broadcast shape", "output_size equals to"],
    "normal() expected at most",
)
INTERNAL_ERRORS = ("INTERNAL ASSERT", "undefined Tensor", "SmallVector unable to grow")
WITH_OTHER_PARAMETERS = (
    *("index", "where", "add", "sub", "rsub", "split", "index_put", "roll"),
    *("broadcast_tensors", "cartesian_prod", "chain_matmul", "block_diag", "repeat_interleave"),
    *("unique_consecutive", "hinge_embedding_loss", "triplet_margin_loss", "cosine_embedding_loss"),
    "margin_ranking_loss",
)


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


def has_complex_number(each: Call) -> bool:
    return any(isinstance(value, complex) for value in (*each.args, *each.kwargs.values()))


def has_integers(each: Call) -> bool:
    return any(one.values.dtype.kind in "iu" for one in each.tensors())


def has_tiny(each: Call) -> bool:
    """Say whether a number of a call is so small that its inverse is infinite."""
    sizes = [np.abs(one.values) for one in each.tensors() if one.values.dtype.kind in "fc"]
    return any(bool(((size > 0) & (size < 1e-38)).any()) for size in sizes)


def is_unsorted(each: Call) -> bool:
    return any(bool((np.diff(one.values) < 0).any()) for one in each.tensors() if one.values.ndim)


def has_nothing(each: Call) -> bool:
    sizes = [value for value in each.args if isinstance(value, list | tuple)]
    return any(not one.values.size for one in each.tensors()) or any(
        0 in size for size in sizes if all(type(n) is int for n in size)
    )


def has_zero(each: Call) -> bool:
    numbers = [value for value in each.args if isinstance(value, int | float | complex)]
    return 0 in numbers or any(not one.values.all() for one in each.tensors())


def is_worded(found: Disagreement) -> bool:
    """Say whether the error here, if there is one, is not one of Python or NumPy that leaks."""
    ours = found.text.partition(", not ")[0]
    return not any(words in ours for words in RAW_ERRORS)


def non_finite(each: Call) -> bool:
    """Say whether numbers of a call are not finite, or so great that sums and squares are not."""
    numbers = [value for value in each.args if isinstance(value, int | float | complex)]
    return any(
        not bool((np.abs(np.asarray(one.values, complex)) < 1e18).all())
        for one in each.tensors()
        if one.values.dtype.kind in "fc"
    ) or any(not abs(value) < 1e18 for value in numbers)


def is_wide(each: Call) -> bool:
    wide = [Name(name) for name in WIDE_UNSIGNED]
    return any(one.dtype in WIDE_UNSIGNED for one in each.tensors()) or any(
        value in wide for value in each.kwargs.values() if isinstance(value, Name)
    )


def writes_out(each: Call) -> bool:
    name, _, overload = each.operator.partition(".")
    schema = getattr(getattr(ops.aten, name), overload or "default")._schema
    return any(argument.is_out and argument.name in each.kwargs for argument in schema.arguments)


def has_layouts(each: Call) -> bool:
    return any(one.layout != "contiguous" for one in each.tensors())

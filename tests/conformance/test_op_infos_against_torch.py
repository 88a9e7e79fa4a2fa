"""Every operator of the base library gives PyTorch's results, gradients, dtypes and errors: on its
samples, and on variations of them.

`DOVETAIL_CALLS=500` makes more variations of each. What is not compared, and why, is said here.
"""

from __future__ import annotations

import os
import random
import warnings

import pytest
from incomparable_samples import is_comparable
from random_calls import UNSAFE
from sample_variations import varied
from torch_samples import as_torch, difference, outcome, torch_operator

import dovetail
from dovetail.testing import OpInfo, SampleInput, all_types_and_complex_and, op_infos
from dovetail_kernel import Device

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

CALLS = int(os.environ.get("DOVETAIL_CALLS", "12"))
CPU = Device("cpu")
EVERY_DTYPE = all_types_and_complex_and(dovetail.bool, dovetail.float16, dovetail.bfloat16)
INFOS = [
    info
    for info in op_infos("aten")
    # Storages have no twins in PyTorch here: `test_storage_against_torch.py` compares `set_`.
    # The copy of a matrix that triangular_solve returns requires grad only if the matrix does.
    # PyTorch's gradients of gamma numbers have four digits: `test_seeds_against_torch.py`.
    # Its fused step of an LSTM is for CUDA alone; `lstm_cell` runs it here.
    if info.operator.base_name
    not in (
        "set_",
        "triangular_solve",
        "_linalg_check_errors",
        "_standard_gamma_grad",
        "_dirichlet_grad",
        "_thnn_fused_lstm_cell",
    )
    and torch_operator(torch, info) is not None
]

DIFFERENT = {
    "affine_grid_generator": "PyTorch has no half precision",
    **dict.fromkeys(
        ["grid_sampler", "grid_sampler_2d", "grid_sampler_3d"],
        "PyTorch takes any number for a mode",
    ),
    "_ctc_loss_backward": "PyTorch looks neither at shapes nor at dtypes",
    "_pack_padded_sequence": "PyTorch has no gradient of complex numbers",
    "imag": "PyTorch refuses real numbers",
    **dict.fromkeys(
        ["rnn_tanh_cell", "rnn_relu_cell", "rnn_relu"], "PyTorch multiplies states of whole numbers"
    ),
    "addcdiv": "the gradient of an integer operand is not asked for",
    **dict.fromkeys(
        ["addmm", "addmv", "addbmm", "baddbmm"],
        "PyTorch accepts a fractional alpha of integers here and there",
    ),
    "_log_softmax_backward_data": "PyTorch looks neither at shapes nor at dtypes",
    "_softmax_backward_data": "PyTorch looks neither at shapes nor at dtypes",
    "_prelu_kernel_backward": "PyTorch refuses operands of several dtypes",
    "allclose": "PyTorch looks at the tolerances first",
    "as_strided": "PyTorch looks at the memory of a view without its offset",
    "bilinear": "PyTorch has no gradient of complex numbers",
    "bernoulli": "PyTorch takes any dtype where there is nothing",
    "bernoulli_": "PyTorch takes any dtype where there is nothing",
    "binary_cross_entropy_with_logits": "PyTorch broadcasts neither weights nor dtypes",
    "clamp": "PyTorch clamps bools by one tensor, not by two or by numbers",
    "clip": "PyTorch clamps bools by one tensor, not by two or by numbers",
    **dict.fromkeys(
        ["convolution", "_convolution", "convolution_backward", "conv_tbc"],
        "PyTorch has complex numbers and some integers in some of them only",
    ),
    **dict.fromkeys(
        [f"{name}{ndim}d" for name in ("conv", "conv_transpose") for ndim in (1, 2, 3)],
        "PyTorch has small integers in some of them only",
    ),
    **dict.fromkeys(
        ["max_unpool2d", "max_unpool3d"],
        "PyTorch has no gradient where places lie in another order in memory",
    ),
    **dict.fromkeys(
        ["fractional_max_pool2d", "fractional_max_pool3d"],
        "PyTorch takes random numbers above 1, and reads beyond memory",
    ),
    **dict.fromkeys(
        ["avg_pool1d", *[f"avg_pool{n}d{more}" for n in (2, 3) for more in ("", "_backward")]],
        "PyTorch has small integers and half precision in some of them only",
    ),
    "max_pool1d": "PyTorch has no integers where places are not asked for",
    **dict.fromkeys(
        ["adaptive_avg_pool2d", "adaptive_avg_pool3d"],
        "to one element PyTorch averages tensors of any dimensions",
    ),
    "native_channel_shuffle": "PyTorch has no derivative",
    "cross_entropy_loss": "the error of sizes that differ is a ValueError",
    "cumprod": "with dtype= of integers PyTorch refuses what requires grad",
    "cumsum": "with dtype= of bools PyTorch refuses",
    "dropout": "PyTorch has no complex ones",
    "embedding": "PyTorch has no gradient of complex numbers",
    "embedding_dense_backward": "PyTorch has no gradient of complex numbers",
    **dict.fromkeys(
        [
            *("_fft_c2c", "_fft_c2r", "_fft_r2c"),
            *(
                f"fft_{kind}fft{end}"
                for kind in ("", "i", "r", "ir", "h", "ih")
                for end in ("", "2", "n")
            ),
            *("stft", "istft"),
        ],
        "PyTorch transforms nothing empty, and reads behind signals",
    ),
    "fill_": "PyTorch fills expanded tensors",
    **dict.fromkeys(
        ["floor_divide", "heaviside"],
        "the error of the missing derivative is a NotImplementedError",
    ),
    "logit_backward": "PyTorch has no derivative",
    "glu_backward": "PyTorch refuses operands of several dtypes",
    "huber_loss": "of operands that broadcast PyTorch divides the gradient by the wrong count",
    "_linalg_check_errors": "PyTorch takes infos of any dtype",
    **dict.fromkeys(
        ["_linalg_eigh", "_linalg_svd"], "without vectors PyTorch has no gradient, and an assertion"
    ),
    **dict.fromkeys(
        ["linalg_eigh", "linalg_svd", "svd", "linalg_eig"], "the signs and phases of vectors differ"
    ),
    **dict.fromkeys(
        [
            *("_lu_with_info", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex"),
            *("cholesky", "linalg_svdvals"),
        ],
        "PyTorch takes any dtype where there is nothing",
    ),
    **dict.fromkeys(
        ["cholesky_inverse", "cholesky_solve"],
        "PyTorch differentiates with respect to the triangle that is not read, too",
    ),
    **dict.fromkeys(
        ["linalg_cholesky", "linalg_cholesky_ex", "linalg_solve_triangular", "triangular_solve"],
        "PyTorch takes some operands of several dtypes, and makes the diagonal real elsewhere",
    ),
    "addr": "with a beta of 0 PyTorch has gradients of zeros, and others of several dtypes fail",
    "geqrf": "PyTorch refuses complex numbers at once",
    "linalg_cond": "PyTorch writes into what its own gradient needs",
    "linalg_eigvals": "PyTorch divides by what rounding leaves of a singular matrix of vectors",
    **dict.fromkeys(
        ["linalg_ldl_factor", "linalg_ldl_factor_ex"], "LAPACK's blocks of NaN and of nothing"
    ),
    "linalg_lstsq": "found by singular values, by the other drivers too",
    **dict.fromkeys(
        ["linalg_matrix_exp", "matrix_exp"], "PyTorch overflows in half precision on the way"
    ),
    **dict.fromkeys(
        [
            *("linalg_matrix_power", "linalg_inv", "linalg_inv_ex"),
            *("linalg_solve", "linalg_solve_ex", "linalg_tensorsolve"),
        ],
        "what singular matrices give is NaN, and which are is told by NumPy's LAPACK",
    ),
    **dict.fromkeys(
        ["linalg_pinv", "pinverse"],
        "pseudoinverses of infinities are not NaN, tolerances in double",
    ),
    "nuclear_norm": "of rank-deficient matrices the gradient is not unique",
    "poisson_nll_loss": "the gradient of PyTorch by a count of 0 is NaN",
    "vander": "PyTorch writes into what its own gradient needs",
    "lerp": "PyTorch takes real weights of complex numbers",
    **dict.fromkeys(
        ["lgamma", "special_gammaln", "digamma", "special_digamma", "special_psi"],
        "at poles PyTorch's derivatives are great numbers",
    ),
    **dict.fromkeys(
        ["logit", "special_logit", "special_log_ndtr"],
        "gradients of NaN and of minus infinity are numbers, and NaN",
    ),
    "linspace": "PyTorch makes up to one bool",
    "log_sigmoid_backward": "PyTorch refuses operands of several dtypes",
    "log_softmax": "PyTorch takes any dtype where there is nothing",
    "logaddexp": "PyTorch has no gradient of a real operand beside a complex one",
    "logsumexp": "over no dimensions PyTorch refuses most tensors",
    "masked_fill": "PyTorch refuses the gradient of a real number put among complex ones",
    **dict.fromkeys(
        ["mm", "bmm", "mv", "inner", "matmul"], "PyTorch multiplies anything where there is nothing"
    ),
    "median": "PyTorch has a median of no integers",
    **dict.fromkeys(
        ["log_normal_", "geometric_", "poisson", "binomial"],
        "PyTorch takes any dtype where there is nothing",
    ),
    "normal": "PyTorch refuses derivatives of complex numbers",
    "isin": "PyTorch cannot view tensors in some orders of memory",
    "nanmedian": "PyTorch has a median of no integers",
    "mse_loss": "of operands that broadcast PyTorch divides the gradient by the wrong count",
    "mse_loss_backward": "PyTorch has gradients of integers, rounded",
    "nan_to_num": "PyTorch has no gradient of complex numbers",
    "native_batch_norm_backward": "PyTorch takes moments that require grad",
    "native_dropout": "PyTorch has no gradient of complex numbers",
    "native_dropout_backward": "PyTorch has no gradient of complex numbers",
    "native_layer_norm_backward": "PyTorch looks at fewer shapes",
    "nll_loss_backward": "PyTorch refuses a weight of another dtype",
    "nll_loss_nd": "the error of sizes that differ is a ValueError",
    "pow": "PyTorch raises bools to the power of a bool number",
    "prod": "with dtype= of integers PyTorch refuses what requires grad",
    "randn_like": "PyTorch takes any dtype where there is nothing",
    "repeat": "PyTorch takes negative counts where another is zero",
    "rsub": "a bool alpha equal to the default is not seen",
    **dict.fromkeys(["special_i1", "special_i1e"], "PyTorch has no gradient in half precision"),
    **dict.fromkeys(
        [
            "scatter_reduce",
            "select_copy",
            "select_scatter",
            "slice_copy",
            "slice_scatter",
            "view_as_complex_copy",
        ],
        "PyTorch has no gradient of complex numbers",
    ),
    "_unsafe_masked_index": "PyTorch takes masks of integers",
    "_unsafe_masked_index_put_accumulate": "PyTorch takes masks of integers",
    "_chunk_cat": "PyTorch has no derivative, and no dimensions counted from the end",
    "unfold_backward": "PyTorch does not look at the shape of the gradient",
    "sgn": "the gradient of PyTorch has no memory",
    "silu": "PyTorch has no gradient of complex numbers",
    **dict.fromkeys(
        ["hardsigmoid_backward", "mish_backward", "silu_backward"], "PyTorch has no derivative"
    ),
    "smooth_l1_loss_backward": "PyTorch has gradients of integers, rounded",
    "smooth_l1_loss": "of operands that broadcast PyTorch divides the gradient by the wrong count",
    "soft_margin_loss": "PyTorch broadcasts the target alone, and takes complex numbers",
    "softmax": "PyTorch takes any dtype where there is nothing",
    "gradient": "PyTorch takes coordinates that are not as many as the samples",
    "_histogramdd_bin_edges": "PyTorch spaces complex numbers",
    "std": "over no dimensions PyTorch's gradient is infinite",
    "sum": "with dtype= of integers PyTorch refuses what requires grad",
    "tile": "PyTorch takes negative counts where another is zero",
    "var": "over no dimensions PyTorch's gradient is infinite",
    "complex": "PyTorch has complex numbers of half precision",
    "view_as_complex": "PyTorch has complex numbers of half precision",
    "zero_": "PyTorch fills expanded tensors",
}
"""Operators that differ in a corner, which is left out of what is compared: which calls are errors,
and gradients. Values are compared where both give some.
"""


UNDETERMINED = {
    **dict.fromkeys(
        ["_linalg_eigh", "_linalg_svd", "linalg_eig", "linalg_eigh", "linalg_svd", "svd"],
        "signs and phases of vectors",
    ),
    **dict.fromkeys(
        ["_lu_with_info", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex"],
        "which of two equal pivots is taken",
    ),
    **dict.fromkeys(
        ["linalg_ldl_factor", "linalg_ldl_factor_ex"], "what blocks of NaN are factored into"
    ),
    **dict.fromkeys(
        ["linalg_inv", "linalg_inv_ex", "linalg_matrix_power", "linalg_solve", "linalg_solve_ex"],
        "what singular matrices give",
    ),
    **dict.fromkeys(
        ["linalg_lstsq", "linalg_pinv", "pinverse"], "what infinities and values near 0 give"
    ),
    **dict.fromkeys(
        ["linalg_matrix_exp", "matrix_exp"], "PyTorch overflows in half precision on the way"
    ),
}
"""Operators whose values may differ, and in what: their references and tests of linear algebra
compare them.
"""


def compared(info: OpInfo, sample: SampleInput) -> str:
    """Return how the outcomes of a call in both libraries differ."""
    if not is_comparable(info, sample):
        return ""
    theirs = torch_operator(torch, info)
    args, kwargs = as_torch(torch, sample)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = (
            outcome(dovetail, info.op, sample.arguments, sample.kwargs),
            outcome(torch, theirs, args, kwargs),
        )
    base = info.operator.base_name
    values = not info.is_random and base not in UNDETERMINED
    return difference(*found, corners=base not in DIFFERENT, values=values)


@pytest.mark.operators("info", INFOS)
def test_the_results_and_gradients_of_samples_are_pytorchs(info: OpInfo) -> None:
    for dtype in sorted(info.dtypes, key=str):
        inexact = dtype.is_floating_point or dtype.is_complex
        for requires_grad in (False, True) if inexact else (False,):
            for sample in info.sample_inputs(CPU, dtype, requires_grad):
                wrong = compared(info, sample)
                assert not wrong, f"{sample}: {wrong}"


@pytest.mark.operators("info", [info for info in INFOS if info.operator.base_name not in UNSAFE])
def test_variations_of_samples_give_what_pytorch_gives(info: OpInfo) -> None:
    for seed in range(CALLS):
        sample = varied(info, random.Random(f"{info.name} {seed}"))
        wrong = compared(info, sample)
        assert not wrong, f"{sample}: {wrong}"


@pytest.mark.operators("info", [info for info in INFOS if info.operator.base_name not in DIFFERENT])
def test_the_dtypes_that_are_refused_are_those_that_pytorch_refuses(info: OpInfo) -> None:
    theirs = torch_operator(torch, info)
    for dtype in sorted(EVERY_DTYPE - info.dtypes, key=str):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refused = any(
                isinstance(outcome(torch, theirs, *as_torch(torch, sample)), Exception)
                for sample in info.sample_inputs(CPU, dtype)
            )
        assert refused, f"PyTorch takes {dtype}"


@pytest.mark.operators(
    "info",
    [
        info
        for info in INFOS
        # Of several elements PyTorch's takes the first: `item` has looked before.
        if info.error_inputs_func is not None
        and info.name != "aten::_local_scalar_dense"
        and info.operator.base_name not in UNSAFE
    ],
)
def test_error_inputs_are_errors_of_the_same_type_in_pytorch(info: OpInfo) -> None:
    theirs = torch_operator(torch, info)
    for error in info.error_inputs(CPU):
        args, kwargs = as_torch(torch, error.sample_input)
        found = outcome(torch, theirs, args, kwargs)
        assert isinstance(found, error.error_type), f"{error.sample_input}: {found!r:.300}"


@pytest.mark.operators(
    "info",
    [
        info
        for info in INFOS
        if dovetail.float32 in info.dtypes
        and not info.is_random
        # PyTorch's has lost half the digits; in `cdist`, which calls it, it has not.
        and info.name != "aten::_euclidean_dist"
    ],
)
def test_results_under_autocast_have_the_dtypes_of_pytorchs(info: OpInfo) -> None:
    if info.operator.base_name == "lstm" and torch.ops.mkldnn._is_mkldnn_bf16_supported():
        pytest.skip("PyTorch leaves it to oneDNN on this processor, which computes in bfloat16")
    theirs = torch_operator(torch, info)
    for dtype in (dovetail.float32, dovetail.bfloat16):
        if dtype not in info.dtypes:
            continue
        for sample in info.sample_inputs(CPU, dtype):
            args, kwargs = as_torch(torch, sample)
            with dovetail.autocast("cpu"):
                ours = outcome(dovetail, info.op, sample.arguments, sample.kwargs)
            with torch.autocast("cpu"):
                other = outcome(torch, theirs, args, kwargs)
            if not isinstance(ours, Exception) and not isinstance(other, Exception):
                assert [each[0] for each in ours[0]] == [each[0] for each in other[0]], str(sample)


OTHER_KEYWORDS = frozenset(
    {
        *("split", "binary_cross_entropy_with_logits"),  # functions in Python, with other names
        # These take no None in a list of indices there.
        *("index_put", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate"),
    }
)


def with_keywords(info: OpInfo) -> bool:
    """Say whether the operator is a public function of both libraries."""
    base = info.operator.base_name
    return base not in OTHER_KEYWORDS and all(hasattr(lib, base) for lib in (dovetail, torch))


@pytest.mark.operators("info", [info for info in INFOS if with_keywords(info)])
def test_the_function_takes_the_keywords_that_pytorchs_takes(info: OpInfo) -> None:
    names = [argument.name for argument in info.operator.schema.arguments]
    base = info.operator.base_name
    for sample in info.sample_inputs(CPU, dovetail.float32):
        args, kwargs = as_torch(torch, sample)
        outcomes = []
        for lib, given, more in (
            (dovetail, sample.arguments, sample.kwargs),
            (torch, args, kwargs),
        ):
            named = dict(zip(names, given, strict=False)) | more
            if isinstance(named.get("self"), lib.Tensor):
                named["input"] = named.pop("self")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = outcome(lib, getattr(lib, base), (), named)
            outcomes.append(isinstance(found, TypeError))
        assert outcomes[0] == outcomes[1], f"{base}(**{list(named)})"

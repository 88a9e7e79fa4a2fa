"""The cpu backend through the dispatcher: views share memory, half precision computes, nothing
warns.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import dovetail_aten as aten
import dovetail_cpu
import dovetail_kernel as kernel
from dovetail_aten.kernel_support import KernelTable, family_class
from dovetail_cpu.kernels.table import FAST_FAMILIES
from dovetail_dispatcher import ops
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey, plugin_manager

VIEWS = {
    "alias": ops.aten.alias,
    "as_strided": lambda x: aten.as_strided(x, (2, 2), (1, 2), 1),
    "detach": lambda x: x.detach(),
    "diagonal": lambda x: x.diagonal(),
    "diagonal of rank 3": lambda x: x.view((2, 2, 3)).diagonal(1, 0, 2),
    "expand": lambda x: x[:, :1].expand(4, 3),
    "expand by one": lambda x: x.expand(1, 4, 3),
    "permute": lambda x: x.permute(1, 0),
    "select": lambda x: x.select(0, 1),
    "select to 0-d": lambda x: x.select(0, 1).select(0, 2),
    "slice": lambda x: x[1:3],
    "split": lambda x: x.split(2)[1],
    "split_with_sizes": lambda x: x.split_with_sizes([1, 3])[1],
    "squeeze": lambda x: x[:, :1].squeeze(),
    "squeeze to 0-d": lambda x: x[:1, :1].squeeze(),
    "t": lambda x: x.t(),
    "transpose": lambda x: x.transpose(0, 1),
    "unbind": lambda x: x.unbind()[2],
    "unbind to 0-d": lambda x: x[0].unbind()[2],
    "unsqueeze": lambda x: x.unsqueeze(1),
    "view": lambda x: x.view((3, 4)),
    "view to 0-d": lambda x: x[:1, :1].view(()),
    "view of strided": lambda x: x[::2].view((2, 3, 1)),
    "view of another dtype": lambda x: ops.aten.view(x, kernel.int32),
    "view_as_complex": lambda x: aten.view_as_complex(x.view((6, 2))),
}


@pytest.fixture(autouse=True, scope="module")
def loaded():
    plugin_manager.load_backend("cpu")


def test_the_public_names_are_pinned():
    assert sorted(dovetail_cpu.__all__) == [
        "CpuArrays",
        "dovetail_backend",
        "get_num_threads",
        "nameless_file",
        "set_num_threads",
    ]
    assert all(hasattr(dovetail_cpu, name) for name in dovetail_cpu.__all__)


def test_every_base_operator_that_is_no_composite_has_a_cpu_kernel():
    composites = (DispatchKey.CompositeImplicitAutograd, DispatchKey.CompositeExplicitAutograd)
    base = [
        op for op in registry.all_operators() if op.namespace == "aten" and op.variant_of is None
    ]
    assert len(base) > 200
    assert [
        op.name
        for op in base
        if not op.newest(DispatchKey.CPU) and not any(op.newest(key) for key in composites)
    ] == ["aten::_sparse_mm_reduce_impl"]  # of sparse matrices alone, as in PyTorch


@pytest.mark.parametrize("name", FAST_FAMILIES)
def test_a_fast_family_defines_what_it_takes_the_place_of(name):
    tables = [KernelTable(), KernelTable()]
    for family, table in zip((name, FAST_FAMILIES[name]), tables, strict=True):
        family_class(family).define(np, table, dovetail_cpu.CpuArrays())
    generic, fast = tables
    assert sorted(fast.kernels) == sorted(generic.kernels)
    assert sorted(fast.helpers) == sorted(generic.helpers)


def test_the_first_tensor_loads_one_family():
    code = (
        "import dovetail_aten, sys\n"
        "dovetail_aten.ones(2)\n"
        "loaded = [n.split('.') for n in sys.modules if n.startswith('dovetail_aten.families.')]\n"
        "print(*{parts[2] for parts in loaded if 'kernels' in parts})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["creation"]


@pytest.mark.cpu_only(reason="arrays are NumPy's")
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_shares_memory_and_is_an_array(view):
    x = aten.arange(12, dtype=kernel.float32).view((4, 3))
    seen = view(x)
    assert isinstance(seen.array, np.ndarray)
    assert np.shares_memory(seen.array, x.array)


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "expand"])
def test_a_write_to_a_view_is_seen_in_its_base(name):
    x = aten.ones(4, 3)
    VIEWS[name](x).zero_()
    assert (x == 0).any().item()


def test_the_view_of_an_expanded_tensor_refuses_a_write():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        aten.ones(3, 1).expand(3, 4).add_(1)


def test_as_strided_beyond_the_memory_is_refused():
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        aten.as_strided(aten.ones(4), (3,), (2,), 0)


def test_as_strided_of_a_view_starts_where_the_view_starts():
    x = aten.arange(10)
    assert aten.as_strided(x[4:], (3,), (1,)).tolist() == [4, 5, 6]
    assert aten.as_strided(x[4:], (3,), (1,), 0).tolist() == [0, 1, 2]


def test_as_strided_keeps_the_memory_alive():
    view = aten.as_strided(aten.arange(100_000), (2,), (99_999,))
    assert view.tolist() == [0, 99_999]


@pytest.mark.parametrize(
    "function",
    [
        *(aten.exp, aten.tanh, aten.sigmoid, aten.relu, aten.erf, aten.sqrt, aten.neg, aten.abs),
        *(
            aten.sum,
            aten.mean,
            lambda x: x + x,
            lambda x: x * 2,
            lambda x: x / 3,
            lambda x: x @ x.t(),
        ),
        *(
            lambda x: ops.aten.softmax(x, 1),
            lambda x: x.max(),
            lambda x: x.cumsum(0),
            ops.aten.gelu,
        ),
    ],
)
def test_an_operator_on_bfloat16_keeps_the_dtype_and_agrees_with_float32(function):
    exact = aten.tensor([[0.5, -1.25, 2.0], [3.0, 0.25, 1.0]])
    exact = exact.abs() if function is aten.sqrt else exact
    found = function(exact.to(kernel.bfloat16))
    assert found.dtype is kernel.bfloat16
    np.testing.assert_allclose(
        np.asarray(found.float().cpu()), np.asarray(function(exact).cpu()), rtol=2e-2, atol=1e-2
    )


def test_bfloat16_and_float32_promote_to_float32():
    assert (aten.ones(2, dtype=kernel.bfloat16) + aten.ones(2)).dtype is kernel.float32


LOUD = {
    "division by zero": lambda x: x / 0,
    "0 / 0": lambda x: (x - x) / (x - x),
    "overflow of a sum": lambda x: (x * 3e38) + (x * 3e38),
    "overflow of exp": lambda x: aten.exp(x * 1000),
    "overflow in place": lambda x: x.mul_(3e38).mul_(3e38),
    "overflow with out": lambda x: aten.mul(x * 3e38, x * 3e38, out=aten.empty(3)),
    "log of a negative number": lambda x: aten.log(-x),
    "inf - inf in a sum": lambda x: aten.sum(aten.tensor([float("inf"), float("-inf")])),
    "inf - inf in a mean": lambda x: aten.mean(aten.tensor([float("inf"), float("-inf")])),
    "overflow of cumsum": lambda x: (x * 3e38).cumsum(0),
    "overflow of prod": lambda x: (x * 3e38).prod(),
    "overflow of a product of matrices": lambda x: (x * 3e38) @ (x * 3e38),
    "overflow of a cast": lambda x: (x * 1e30).to(kernel.float16),
    "nan to int": lambda x: (x * float("nan")).to(kernel.int32),
    "complex to real": lambda x: x.to(kernel.complex64).to(kernel.float32),
    "copy_ of complex numbers": lambda x: x.copy_(x.to(kernel.complex64)),
    "a sum with alpha": lambda x: aten.add(x * 3e38, x * 3e38, alpha=2),
    "sigmoid": lambda x: aten.sigmoid(x * -1e4),
    "softmax of infinities": lambda x: ops.aten.softmax(x * float("inf"), 0),
    "log_softmax of infinities": lambda x: ops.aten.log_softmax(x * float("-inf"), 0),
    "gelu": lambda x: ops.aten.gelu(x * -1e30),
    "erfc": lambda x: aten.erfc(x.repeat(100) * 1e20),
    "a power": lambda x: aten.pow(x * 1e30, 5),
    "overflow of int8": lambda x: aten.full((3,), 100, dtype=kernel.int8).mul(2),
    "a number out of range": lambda x: x.to(kernel.float16) * 1e9,
    "index_add": lambda x: aten.index_add(x * 3e38, 0, aten.tensor([0, 0, 0]), x * 3e38),
}


@pytest.mark.parametrize("call", LOUD.values(), ids=LOUD)
@pytest.mark.parametrize("action", ("error", "always"))
def test_a_floating_point_exception_is_no_warning(call, action):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        call(aten.ones(3))
    assert [str(each.message) for each in seen] == []


def test_no_warning_in_another_thread():
    seen = []

    def divide():
        try:
            aten.ones(3).div_(0)
            aten.sum(aten.tensor([float("inf"), float("-inf")]))
        except Warning as warning:
            seen.append(warning)

    thread = threading.Thread(target=divide)
    thread.start()
    thread.join()
    assert seen == []


def test_the_users_own_numpy_still_warns():
    aten.ones(3).div(0)
    aten.sum(aten.ones(3))
    assert np.geterr()["divide"] == "warn"
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.ones(3) / 0


def test_an_error_in_a_kernel_leaves_the_error_state_as_it_was():
    before = np.geterr()
    with pytest.raises(RuntimeError):
        ops.aten.softmax(aten.ones(3, dtype=kernel.int64), 0).relu().view(17)
    assert np.geterr() == before


@pytest.mark.parametrize(
    "function",
    [
        *(
            aten.exp,
            aten.erf,
            ops.aten.gelu,
            aten.relu,
            lambda x: x.sum(0),
            lambda x: x.mean(1),
            lambda x: x @ x.t(),
        ),
        *(
            lambda x: ops.aten.softmax(x, 0),
            lambda x: x.max(0)[0],
            lambda x: x.reshape(-1),
            lambda x: x.clone() + 1,
        ),
        *(
            lambda x: aten.cat([x, x]),
            lambda x: x.cumsum(1),
            lambda x: x[:, [0, 1]],
            lambda x: x.argmax(0),
        ),
    ],
)
@pytest.mark.parametrize(
    "arrange", [lambda x: x.t(), lambda x: x[::2, 1:], lambda x: x[:1].expand(4, 6)]
)
def test_a_strided_input_gives_what_its_copy_gives(function, arrange):
    aten.manual_seed(0)
    x = arrange(aten.randn(4, 6))
    given, copied = function(x), function(x.contiguous())
    np.testing.assert_allclose(
        np.asarray(given.cpu()), np.asarray(copied.cpu()), rtol=1e-6, atol=1e-6
    )


def test_the_backend_imports_only_itself_beside_its_arrays():
    code = (
        "import sys, numpy, ml_dtypes, dovetail_aten; before = set(sys.modules)\n"
        "import dovetail_cpu; print(*set(sys.modules) - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {name for name in run.stdout.split() if not name.startswith("dovetail_")}
    assert others <= {"mmap"}
    assert not [name for name in run.stdout.split() if name.startswith("dovetail_cpu.fast_")]

"""What cannot simply be given as ``out=`` is refused where PyTorch refuses it, or gets the right
result: memory that the input shares, expanded memory, another dtype or device, a leaf, no tensor.

The deliberate differences are listed in ``docs/out.md``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from call_values import name_of
from torch_samples import as_torch, results_of

import dovetail
from dovetail.testing import OpInfo, op_infos
from dovetail_kernel import Device
from dovetail_testing.checks.samples import dtypes_of, samples_of
from dovetail_testing.checks.variant_checks import outs_of, variants

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

CPU = Device("cpu")
PAGE = Path(__file__).parents[2] / "docs" / "out.md"
pytestmark = [
    pytest.mark.cpu_only(reason="PyTorch is on the cpu"),
    pytest.mark.filterwarnings("ignore:An output with one or more elements was resized"),
]


def expanded(lib: Any, shape: tuple[int, ...], dtype: Any, first: Any) -> Any:
    return lib.zeros((), dtype=dtype).expand(shape)


def of_dtype(name: str) -> Callable[..., Any]:
    def make(lib: Any, shape: tuple[int, ...], dtype: Any, first: Any) -> Any:
        return lib.zeros(shape, dtype=getattr(lib, name))

    return make


def meta(lib: Any, shape: tuple[int, ...], dtype: Any, first: Any) -> Any:
    return lib.zeros(shape, dtype=dtype, device="meta")


def leaf(lib: Any, shape: tuple[int, ...], dtype: Any, first: Any) -> Any:
    made = lib.zeros(shape, dtype=dtype)
    return made.requires_grad_() if made.is_floating_point() or made.is_complex() else made


def the_input(lib: Any, shape: tuple[int, ...], dtype: Any, first: Any) -> Any:
    return first if first is not None and tuple(first.shape) == shape else None


def transposed_input(lib: Any, shape: tuple[int, ...], dtype: Any, first: Any) -> Any:
    fits = first is not None and tuple(first.shape) == shape and len(shape) == 2
    return first.t() if fits and shape[0] == shape[1] else None


KINDS: dict[str, Callable[..., Any]] = {
    "expanded": expanded,
    "bool": of_dtype("bool"),
    "int64": of_dtype("int64"),
    "float64": of_dtype("float64"),
    "complex64": of_dtype("complex64"),
    "meta": meta,
    "leaf": leaf,
    "the input": the_input,
    "the input, transposed": transposed_input,
}


def outcome(
    lib: Any, variant: Any, operator: Any, args: Any, kwargs: Any, targets: Any
) -> tuple[Any, bool]:
    """Return what the targets hold after the call, and whether the call was refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            operator(*args, **kwargs, **outs_of(variant, targets))
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            return f"{type(error).__name__}: {error}"[:150], True
    held = [list(x.shape) if x.device.type == "meta" else x.detach().tolist() for x in targets]
    return held, False


def same(ours: Any, theirs: Any) -> bool:
    return all(
        np.allclose(np.array(a), np.array(b), 1e-4, 1e-4, equal_nan=True)
        for a, b in zip(ours, theirs, strict=True)
    )


def _refusing(**targets: Any) -> None:
    raise RuntimeError("this memory has not the elements that are written")


OURS, THEIRS = "Dovetail refuses it", "PyTorch refuses it"
DELIBERATE = {
    ("float64", THEIRS): "a wider dtype",
    ("complex64", THEIRS): "a wider dtype",
    ("int64", THEIRS): "a wider dtype",
    ("the input", THEIRS): "a wider dtype",
    ("int64", OURS): "a narrower dtype of sums",
    ("float64", OURS): "a narrower dtype of sums",
    ("bool", OURS): "a narrower dtype of sums",
    ("expanded", OURS): "expanded memory",
    ("meta", OURS): "meta tensors",
    ("the input, transposed", THEIRS): "memory of which a part is the input's",
    ("leaf", OURS): "comparisons and gradients",
}
"""Where only one of the two refuses: the row of the page that says why."""

COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")


def casts_out(variant: Any) -> bool:
    """Return whether an out variant writes other dtypes where PyTorch refuses some: it writes what
    other operators return, promotes a number, or has an argument for the dtype.
    """
    arguments = variant.schema.arguments
    return any(variant.handle.has_kernel_for_dispatch_key(key) for key in COMPOSITES) or any(
        a.name == "dtype" or a.real_type.schema_str == "Scalar" for a in arguments
    )


SHARING = ("the input", "the input, transposed")
"""Where a result is written into memory that is read: several results would be written into one
place. Through a transposed view PyTorch's inverse and factors are wrong, and here they are right.
"""

BEYOND = {
    *("avg_pool3d", "avg_pool3d_backward", "adaptive_max_pool3d", "adaptive_max_pool3d_backward"),
    *("max_pool3d_with_indices", "max_pool3d_with_indices_backward", "max_unpool2d"),
    *("fractional_max_pool2d", "fractional_max_pool2d_backward"),
    *("fractional_max_pool3d", "fractional_max_pool3d_backward"),
    *("_softmax", "_softmax_backward_data", "_log_softmax", "_log_softmax_backward_data"),
    *("log_sigmoid_forward", "upsample_bicubic2d_backward", "col2im", "im2col", "narrow_copy"),
    *[f"{name}_pad{dims}d" for name in ("reflection", "replication") for dims in (1, 2, 3)],
}
"""Operators that in PyTorch write as many elements as the result has behind the first one of `out`,
wherever its elements lie: into expanded memory they write beyond its end, which ends the process.
"""

INFOS = [info for info in op_infos("aten") if variants(info, out=True) and not info.is_random]


@pytest.mark.operators("info", INFOS)
def test_an_unfit_out_gets_the_result_or_is_refused(info: OpInfo) -> None:
    if info.operator.base_name == "binary_cross_entropy":
        pytest.skip("PyTorch reduces in the memory of out=, and is wrong where it is not its own")
    known = dtypes_of(info, "out", CPU)
    dtype = dovetail.float32 if dovetail.float32 in known else known[0]
    sample = next(iter(samples_of(info, "out", CPU, dtype)))
    plain = sample.transform(lambda x: x.detach())
    with np.errstate(all="ignore"):
        result = results_of(dovetail, info.op(*plain.arguments, **plain.kwargs))
    expected = [x.tolist() for x in result]
    for variant in variants(info, out=True):
        packet = getattr(torch.ops.aten, variant.handle._opname)
        operator = getattr(packet, variant.handle._overloadname, None)
        if operator is None:
            continue
        for kind, make in KINDS.items():
            plain = sample.transform(lambda x: x.detach().clone())
            calls: dict[Any, Any] = {
                torch: (operator, *as_torch(torch, plain)),
                dovetail: (variant.handle, plain.arguments, plain.kwargs),
            }
            if kind == "expanded" and info.operator.base_name in BEYOND:
                calls[torch] = (_refusing, (), {})
            found = {}
            for lib, (function, args, kwargs) in calls.items():
                first = next((x for x in args if isinstance(x, lib.Tensor)), None)
                targets = [
                    make(lib, tuple(x.shape), getattr(lib, name_of(x.dtype)), first) for x in result
                ]
                one_memory = len(targets) > 1 and kind in SHARING
                if not one_memory and not any(each is None for each in targets):
                    with np.errstate(all="ignore"):
                        found[lib] = outcome(lib, variant, function, args, kwargs, targets)
            if not found:
                continue
            (ours, refused), (theirs, refused_there) = found[dovetail], found[torch]
            told = f"{variant.name} into {kind}: {ours}, not {theirs}"
            if refused != refused_there:
                row = DELIBERATE.get((kind, OURS if refused else THEIRS))
                assert row is not None, told
                assert row != "a wider dtype" or casts_out(variant), told
            if not refused and not refused_there and kind != "the input, transposed":
                assert same(ours, theirs), told
            elif not refused and len(result) == 1:
                assert same(ours, expected), told


def test_every_difference_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = {row.split("|")[1].strip() for row in page.splitlines() if row.startswith("| ")}
    assert rows - {"out="} == set(DELIBERATE.values()) | set(ONE_BY_ONE)


def partly_the_input(lib: Any) -> Any:
    base = lib.arange(12.0).reshape(4, 3)
    return lib.square(base[:3], out=base[1:])


def a_view_that_must_grow(lib: Any) -> Any:
    base = lib.ones(2)
    lib.add(lib.ones(4), 1, out=base.view(2, 1))
    return base


def an_array_that_was_let_go(lib: Any) -> Any:
    return lib.add(lib.ones(4), 1, out=lib.from_numpy(np.zeros(2, np.float32)))


def a_comparison(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    return lib.eq(x, x, out=lib.zeros(2, dtype=lib.bool))


ONE_BY_ONE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "memory of which a part is the input's": (partly_the_input, THEIRS),
    "a view that must grow": (a_view_that_must_grow, OURS),
    "an array that was let go": (an_array_that_was_let_go, THEIRS),
    "comparisons and gradients": (a_comparison, OURS),
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_the_two_differ_as_the_page_says(name: str) -> None:
    program, which = ONE_BY_ONE[name]
    refusing, running = (dovetail, torch) if which == OURS else (torch, dovetail)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError):
            program(refusing)
        program(running)


def test_a_result_may_go_where_the_input_partly_is() -> None:
    assert partly_the_input(dovetail).tolist() == [[0, 1, 4], [9, 16, 25], [36, 49, 64]]


def _places(lib: Any, size: int) -> Any:
    return lib.zeros(size, dtype=lib.int64)


def _least_into_itself(lib: Any, x: Any) -> Any:
    return lib.kthvalue(x, 2, out=(x, _places(lib, 1)[0]))


SHARING_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "exp, a part": lambda lib, x: lib.exp(x[:2], out=x[1:3]),
    "exp, all": lambda lib, x: lib.exp(x, out=x),
    "exp, transposed": lambda lib, x: lib.exp(x, out=x.t()),
    "exp, beside": lambda lib, x: lib.exp(x[:2], out=x[2:]),
    "exp, nothing": lambda lib, x: lib.exp(x[1:1], out=x[1:1]),
    "add, a row": lambda lib, x: lib.add(x, x[0], out=x),
    "add, a number": lambda lib, x: lib.add(x[:2], 2.5, out=x[1:3]),
    "add, another dtype": lambda lib, x: lib.add(x[:2].to(lib.int64), 2.5, out=x[1:3]),
    "cumsum, a part": lambda lib, x: lib.cumsum(x[:2], 0, out=x[1:3]),
    "cumsum, all": lambda lib, x: lib.cumsum(x, 0, out=x),
    "sort, a part": lambda lib, x: lib.sort(x[0], out=(x[0], _places(lib, 4))),
    "kthvalue, resized": lambda lib, x: lib.kthvalue(
        x.view(-1), 2, out=(x.view(-1), _places(lib, 1)[0])
    ),
    "kthvalue, itself": lambda lib, x: _least_into_itself(lib, x.view(-1)),
    "max, a part": lambda lib, x: lib.max(x, 1, out=(x[0], _places(lib, 4))),
    "aminmax, a part": lambda lib, x: lib.aminmax(x, dim=0, out=(x[0], lib.zeros(4))),
    "addmm, a row": lambda lib, x: lib.addmm(x[0], lib.ones(4, 4), lib.ones(4, 4), out=x),
    "addmm, all": lambda lib, x: lib.addmm(x, lib.ones(4, 4), lib.ones(4, 4), out=x),
    "normal, a part": lambda lib, x: lib.normal(x[:2], x[:2], out=x[1:3]),
    "gather": lambda lib, x: lib.gather(x, 0, lib.zeros(4, 4, dtype=lib.int64), out=x),
    "index_select": lambda lib, x: lib.index_select(x, 0, _places(lib, 4), out=x),
    "index_select, one place": lambda lib, x: lib.index_select(
        x, 0, _places(lib, 2), out=lib.zeros(1, 4).expand(2, 4)
    ),
    "take": lambda lib, x: lib.take(x, _places(lib, 4), out=x[0]),
    "masked_select": lambda lib, x: lib.masked_select(x[0], x[0] == x[0], out=x[0]),
    "cross": lambda lib, x: lib.linalg.cross(x[:3], lib.ones(3, 4), dim=0, out=x[:3]),
    "cat, the second": lambda lib, x: lib.cat([lib.ones(2, 4), x[:2]], out=x),
    "stack": lambda lib, x: lib.stack([x[0], x[1]], out=x[:2]),
    "index_add, the source": lambda lib, x: lib.index_add(
        x[:2], 0, _places(lib, 2), x[1:3], out=x[:2]
    ),
}
"""Calls whose ``out=`` shares memory with an operand, a part of it, or with itself."""


@pytest.mark.parametrize("name", SHARING_CALLS)
def test_shared_memory_is_refused_where_pytorch_refuses_it(name: str) -> None:
    found = {}
    for lib in (torch, dovetail):
        x = lib.arange(16.0).reshape(4, 4) / 16
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[lib] = SHARING_CALLS[name](lib, x)
            except RuntimeError as error:
                found[lib] = str(error).partition(".")[0]
        if isinstance(found[lib], str) and lib is dovetail:
            assert x.tolist() == (np.arange(16.0).reshape(4, 4) / 16).tolist()
            assert found[lib].startswith("unsupported operation: ")
    ours, theirs = found[dovetail], found[torch]
    assert isinstance(ours, str) == isinstance(theirs, str), (ours, theirs)
    if not isinstance(ours, str):
        first = ours[0] if isinstance(ours, tuple) else ours
        assert np.allclose(first.numpy(), (theirs[0] if isinstance(theirs, tuple) else theirs))


@pytest.mark.parametrize(
    "name", ["cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack"]
)
def test_joined_tensors_of_another_dtype_are_a_type_error(name: str) -> None:
    for lib in (torch, dovetail):
        out = lib.zeros(0, dtype=lib.int64)
        with pytest.raises(TypeError, match="can't be cast to the desired output type Long"):
            getattr(lib, name)([lib.ones(2, 2), lib.ones(2, 2)], out=out)
    assert out.shape == (0,)  # PyTorch's `stack` grows it first


EXACT_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "aminmax": lambda lib, x: lib.aminmax(x, dim=0, out=_wide(lib, 2)),
    "gather": lambda lib, x: lib.gather(x, 0, _places(lib, 3), out=_wide(lib)),
    "where": lambda lib, x: lib.where(x > 0, x, x, out=_wide(lib)),
    "ceil": lambda lib, x: lib.ceil(x, out=_wide(lib)),
    "isin": lambda lib, x: lib.isin(x, x, out=_wide(lib)),
    "argmax": lambda lib, x: lib.argmax(x, out=lib.zeros((), dtype=lib.int32)),
    "complex": lambda lib, x: lib.complex(x, x, out=lib.zeros(3, dtype=lib.complex128)),
    "multinomial": lambda lib, x: lib.multinomial(x, 2, out=_wide(lib)),
    "searchsorted": lambda lib, x: lib.searchsorted(x, x, out=_wide(lib)),
    "mm": lambda lib, x: lib.mm(x[None], x[:, None], out=_wide(lib)),
    "exp": lambda lib, x: lib.exp(x, out=_wide(lib)),
    "eq": lambda lib, x: lib.eq(x, x, out=_wide(lib)),
    "pow": lambda lib, x: lib.pow(x, 2, out=_wide(lib)),
    "add": lambda lib, x: lib.add(x, 2, out=_wide(lib)),
    "cumsum": lambda lib, x: lib.cumsum(x, 0, out=_wide(lib)),
    "cat": lambda lib, x: lib.cat([x, x], out=_wide(lib)),
    "mean": lambda lib, x: lib.mean(x, 0, out=_wide(lib)),
    "arange": lambda lib, x: lib.arange(3, out=_wide(lib)),
    "zeros": lambda lib, x: lib.zeros(3, out=_wide(lib)),
    "normal": lambda lib, x: lib.normal(x, 0 * x + 1e-9, out=_wide(lib)),
    "eig": lambda lib, x: lib.linalg.eigvals(x.diag(), out=lib.zeros(3, dtype=lib.complex128)),
}
"""Calls whose ``out=`` has another dtype than the result."""


def _wide(lib: Any, count: int = 1) -> Any:
    outs = tuple([lib.zeros(3, dtype=lib.float64) for _ in range(count)])
    return outs if count > 1 else outs[0]


@pytest.mark.parametrize("name", EXACT_CALLS)
def test_another_dtype_is_refused_where_pytorch_refuses_it(name: str) -> None:
    found = {}
    for lib in (torch, dovetail):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[lib] = EXACT_CALLS[name](lib, lib.tensor([0.25, 0.5, 2.0]))
            except RuntimeError as error:
                found[lib] = str(error)
    ours, theirs = found[dovetail], found[torch]
    assert isinstance(ours, str) == isinstance(theirs, str), (ours, theirs)
    if not isinstance(ours, str):
        assert np.allclose(ours.numpy(), theirs.numpy(), atol=1e-6)
        assert name_of(ours.dtype) == str(theirs.dtype).removeprefix("torch.")


SHARED: dict[str, Callable[[Any, Any], Any]] = {
    "from_numpy": lambda lib, array: lib.from_numpy(array),
    "a part": lambda lib, array: lib.from_numpy(array[:1]),
    "as_tensor": lambda lib, array: lib.as_tensor(array),
    "from_dlpack": lambda lib, array: lib.from_dlpack(array),
}
GROWING: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda lib, out: lib.add(lib.ones(4), 1, out=out),
    "arange": lambda lib, out: lib.arange(4, out=out),
    "cat": lambda lib, out: lib.cat([lib.ones(4), lib.ones(4)], out=out),
}


@pytest.mark.parametrize("growing", GROWING)
@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("length", [0, 2])
def test_memory_that_an_array_shows_does_not_grow(shared: str, growing: str, length: int) -> None:
    for lib in (torch, dovetail):
        array = np.zeros(length, np.float32)
        out = SHARED[shared](lib, array)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError, match="Trying to resize storage that is not resiz"):
                GROWING[growing](lib, out)
        assert array.tolist() == [0.0] * length


def test_memory_that_was_given_away_does_not_grow() -> None:
    for lib in (torch, dovetail):
        out = lib.ones(2)
        array = out.numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError, match="Trying to resize storage that is not resiz"):
                lib.add(lib.ones(4), 1, out=out)
        assert array.tolist() == [1.0, 1.0]
        if lib is dovetail:
            assert out.tolist() == [1.0, 1.0]


NO_TENSORS: dict[str, Any] = {
    "a list": [1], "a number": 3, "a string": "a", "an array": np.ones(2), "a dict": {},
}  # fmt: skip


@pytest.mark.parametrize("name", NO_TENSORS)
def test_what_is_no_tensor_takes_no_result(name: str) -> None:
    x, out = dovetail.ones(2, 2), NO_TENSORS[name]
    for call in (
        lambda: dovetail.add(x, x, out=out),
        lambda: dovetail.exp(x, out=out),
        lambda: dovetail.sum(x, 0, out=out),
        lambda: dovetail.where(x > 0, x, x, out=out),
        lambda: dovetail.max(x, 0, out=out),
        lambda: dovetail.norm(x, out=out),
        lambda: dovetail.zeros(2, out=out),
        lambda: dovetail.eye(2, out=out),
    ):
        with pytest.raises(TypeError, match=r"'out'|out="):
            call()


@pytest.mark.operators("info", INFOS)
def test_no_operator_writes_into_a_number(info: OpInfo) -> None:
    known = dtypes_of(info, "out", CPU)
    sample = next(iter(samples_of(info, "out", CPU, known[0]))).transform(lambda x: x.detach())
    for variant in variants(info, out=True):
        names = [a.name for a in variant.schema.arguments if a.is_out]
        with pytest.raises(
            RuntimeError, match=r"Expected a value of type '(List\[)?Tensor\]?' for argument"
        ):
            variant.handle(*sample.arguments, **sample.kwargs, **dict.fromkeys(names, 3))

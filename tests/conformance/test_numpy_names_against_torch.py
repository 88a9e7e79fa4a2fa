"""Functions and methods take their arguments by NumPy's names wherever PyTorch's do, ``axis`` for
``dim``, and give the same results.

What every operator takes is read off PyTorch, on samples of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from torch_samples import as_torch, torch_operator

import dovetail
from dovetail.testing import OpInfo, op_infos
from dovetail_kernel import Device

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

NAMES = {"dim": ["axis"], "keepdim": ["keepdims"], "input": ["x", "x1", "a"], "other": ["x2"]}
MODULES = ("linalg", "fft", "special")
INFOS = [
    info
    for info in op_infos("aten")
    if not info.operator.base_name.startswith("_") and torch_operator(torch, info) is not None
]
CPU = Device("cpu")


def places(lib: Any, base: str) -> Iterator[Callable[..., Any] | None]:
    """Yield the functions of an operator, and last its method, or None."""
    module, _, name = base.partition("_")
    own = getattr(lib, module) if module in MODULES else None
    yield None if own is None else getattr(own, name, None)
    for owner in (lib, lib.nn.functional, lib.Tensor):
        yield getattr(owner, base) if base in dir(owner) else None


def called(function: Callable[..., Any], named: dict[str, Any], own: str, name: str) -> Any:
    """Return what a call gives whose argument `own` is given as `name`, or the error."""
    given = {name if each == own else each: value for each, value in named.items()}
    first = [] if own == next(iter(named)) else [given.pop(next(iter(named)))]
    try:
        return function(*first, **given)
    except (TypeError, RuntimeError, ValueError, IndexError) as error:
        return error


def shapes(result: Any) -> Any:
    if isinstance(result, list | tuple):
        return [shapes(each) for each in result]
    return tuple(result.shape) if hasattr(result, "shape") else result


@pytest.mark.operators("info", INFOS)
@pytest.mark.filterwarnings("ignore")
def test_what_pytorch_takes_by_the_names_of_numpy_dovetail_takes(info: OpInfo) -> None:
    parameters = ["input" if a.name == "self" else a.name for a in info.operator.schema.arguments]
    dtype = next((d for d in (dovetail.float32, dovetail.int64) if d in info.dtypes), None)
    if dtype is None:
        pytest.skip("it takes neither float32 nor int64")
    for sample in islice(info.sample_inputs(CPU, dtype), 1):
        arguments, keywords = as_torch(torch, sample)
        ours = dict(zip(parameters, sample.arguments, strict=False)) | sample.kwargs
        theirs = dict(zip(parameters, arguments, strict=False)) | keywords
        places_of_both = zip(
            places(dovetail, info.operator.base_name),
            places(torch, info.operator.base_name),
            strict=True,
        )
        for function, oracle in places_of_both:
            if function is None or oracle is None:
                continue
            for own, name in [(o, n) for o in NAMES if o in ours for n in NAMES[o]]:
                if name in parameters:
                    continue
                wanted = called(oracle, theirs, own, name)
                if isinstance(wanted, Exception):
                    continue
                found = called(function, ours, own, name)
                assert not isinstance(found, Exception), f"{name}: {found!r}"
                if not info.is_random:
                    assert shapes(found) == shapes(wanted), name


TWICE_OR_UNKNOWN = [
    lambda lib, x: lib.unsqueeze(x, dim=0, axis=0),
    lambda lib, x: lib.unsqueeze(x, 0, axis=1),
    lambda lib, x: lib.unsqueeze(x, 0, 1),
    lambda lib, x: lib.exp(x, x=x),
    lambda lib, x: lib.exp(x, x),
    lambda lib, x: lib.exp(x=x, x1=x),
    lambda lib, x: lib.exp(x, axis=0),
    lambda lib, x: lib.exp(),
    lambda lib, x: lib.add(x, x, x2=x),
    lambda lib, x: lib.add(x1=x),
    lambda lib, x: lib.add(x, 2, x, 5),
    lambda lib, x: lib.add(x, x, x, x, x),
    lambda lib, x: lib.cat([x, x], 1, axis=0),
    lambda lib, x: lib.cat([x, x], axis=None),
    lambda lib, x: lib.matmul(x, x, None, x),
    lambda lib, x: lib.cumsum(x, axis="0"),
    lambda lib, x: lib.sum(x, dim=0, axis=0),
    lambda lib, x: lib.tile(x, (2, 2), y=x),
    lambda lib, x: lib.nn.functional.softmax(x, axis=0),
    lambda lib, x: lib.zeros_like(x, x=x),
    lambda lib, x: lib.zeros_like(),
    lambda lib, x: lib.full_like(x),
    lambda lib, x: lib.full_like(x=x),
    lambda lib, x: lib.zeros_like(y=x),
    lambda lib, x: lib.nonzero(x, x1=x),
    lambda lib, x: lib.nonzero(y=x),
    lambda lib, x: lib.numel(),
    lambda lib, x: lib.numel(x, x=x),
    lambda lib, x: lib.numel(y=x),
    lambda lib, x: lib.is_same_size(x, x1=x),
    lambda lib, x: lib.is_same_size(x2=x),
    lambda lib, x: lib.conj(x, x=x),
    lambda lib, x: lib.relu_(x, x=x),
    lambda lib, x: x.size(0, axis=0),
    lambda lib, x: x.stride(dim=0, axis=0),
]


@pytest.mark.parametrize("call", TWICE_OR_UNKNOWN)
def test_an_argument_given_twice_or_by_a_name_that_is_none_is_refused(
    call: Callable[[Any, Any], Any],
) -> None:
    for lib in (torch, dovetail):
        with pytest.raises(TypeError):
            call(lib, lib.ones(2, 2))


def test_split_takes_an_axis_where_pytorch_has_a_function_in_python() -> None:
    with pytest.raises(TypeError):
        torch.split(torch.ones(2, 2), 1, axis=1)
    assert [tuple(e.shape) for e in dovetail.split(dovetail.ones(2, 2), 1, axis=1)] == [(2, 1)] * 2


BY_HAND = [
    lambda lib, x: lib.zeros_like(x=x),
    lambda lib, x: lib.ones_like(x1=x, dtype=lib.int64),
    lambda lib, x: lib.full_like(a=x, fill_value=3),
    lambda lib, x: lib.empty_like(x=x).zero_(),
    lambda lib, x: lib.rand_like(x=x) < 2,
    lambda lib, x: lib.randn_like(a=x) < 99,
    lambda lib, x: lib.randint_like(x=x, high=1),
    lambda lib, x: lib.randint_like(x1=x, low=3, high=4),
    lambda lib, x: lib.nonzero(x=x),
    lambda lib, x: lib.nonzero(a=x, as_tuple=True)[1],
    lambda lib, x: lib.tensor(lib.numel(x=x)),
    lambda lib, x: lib.tensor(lib.is_signed(x=x)),
    lambda lib, x: lib.tensor(lib.is_inference(x1=x)),
    lambda lib, x: lib.tensor(lib.get_device(a=x) < 1),
    lambda lib, x: lib.tensor(lib.is_same_size(x1=x, x2=x)),
    lambda lib, x: lib.detach_(x=x.clone()),
    lambda lib, x: lib.tensor([x.size(axis=0), x.stride(axis=0)]),
    lambda lib, x: lib.transpose(x=x, dim0=0, dim1=1),
    lambda lib, x: lib.selu_(x=x.clone()),
]


@pytest.mark.parametrize("call", BY_HAND)
def test_what_is_written_by_hand_takes_the_names_of_numpy(call: Callable[[Any, Any], Any]) -> None:
    results = [
        call(lib, lib.tensor([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]])) for lib in (torch, dovetail)
    ]
    assert str(results[0].dtype).rpartition(".")[2] == str(results[1].dtype).rpartition(".")[2]
    assert results[0].tolist() == results[1].tolist()


SAME = [
    lambda lib, x: lib.cat([x, x], axis=1),
    lambda lib, x: lib.stack([x, x], axis=1),
    lambda lib, x: lib.add(x1=x, x2=x, alpha=2),
    lambda lib, x: x.add(x2=x),
    lambda lib, x: lib.add(x=x, other=2),
    lambda lib, x: lib.sum(x, axis=(0, 1), keepdims=True),
    lambda lib, x: x.amax(axis=0, keepdims=True),
    lambda lib, x: x.argmax(axis=None),
    lambda lib, x: lib.neg(a=x, out=lib.empty(2, 2)),
    lambda lib, x: lib.add(x1=x, x2=x, out=lib.empty(2, 2)),
    lambda lib, x: lib.fft.fft(x, axis=0).abs(),
    lambda lib, x: lib.linalg.vector_norm(x=x, axis=0, keepdims=True),
    lambda lib, x: lib.max(x, axis=0).values,
    lambda lib, x: lib.tile(x=x, dims=(2, 1)),
    lambda lib, x: lib.cumsum(x, axis=0, dtype=lib.float64),
    lambda lib, x: x.unsqueeze(axis=0),
    lambda lib, x: x.cumsum_(axis=1),
]


@pytest.mark.parametrize("call", SAME)
def test_values_are_those_of_pytorch(call: Callable[[Any, Any], Any]) -> None:
    results = []
    for lib in (torch, dovetail):
        result = call(lib, lib.tensor([[1.0, 2.0], [3.0, 4.0]]))
        results.append((str(result.dtype).rpartition(".")[2], result.tolist()))
    assert results[0] == results[1]


def test_overriding_classes_get_a_call_once_by_the_own_names_of_its_arguments() -> None:
    seen = []

    class Noted(dovetail.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append((func, len(args), kwargs))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = dovetail.ones(2, 2).as_subclass(Noted)
    assert dovetail.cumsum(x=x, axis=0).tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert [each for each in seen if each[0] is dovetail.cumsum] == [(dovetail.cumsum, 2, {})]
    for function in (dovetail.zeros_like, dovetail.numel):
        seen.clear()
        function(x)
        assert seen[0][:2] == (function, 1)
        seen.clear()
        function(x=x)
        assert seen[0][:2] == (function, 0)
        assert seen[0][2]["x"] is x
        assert "input" not in seen[0][2]

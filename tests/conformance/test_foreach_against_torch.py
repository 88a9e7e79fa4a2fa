"""``torch._foreach_*``: every function of PyTorch is here, and gives its results and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.functions.foreach import FOREACH, ONE, PRODUCTS, TWO

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


def tensors(lib: Any, start: float = 0.2, *, grad: bool = False) -> list[Any]:
    made = [
        lib.tensor(np.linspace(start, start + 0.6, 4, dtype=np.float32).tolist()),
        lib.tensor([[start, 0.5], [0.25, 0.9]], dtype=lib.float64),
        lib.tensor(0.75),
    ]
    return [each.requires_grad_(grad) for each in made]


def others(lib: Any) -> dict[str, Any]:
    """Return what may stand beside a list of three tensors."""
    return {
        "list": tensors(lib, 0.3),
        "number": 2,
        "float": 0.5,
        "numbers": [1.5, 2, 0.25],
        "scalar": lib.tensor(1.5),
    }


def calls(name: str, lib: Any) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return arguments of a function behind the first, by what they are."""
    base = name.removeprefix("_foreach_").removesuffix("_")
    beside = others(lib)
    if base in ONE or base in ("zero", "clone", "max", "norm", "powsum"):
        more = {"order": ((1,), {}), "dtype": ((3.0,), {"dtype": lib.float64})}
        return {"alone": ((), {}), **(more if base == "norm" else {})}
    if base in TWO:
        found: dict[str, Any] = {kind: ((value,), {}) for kind, value in beside.items()}
        if base in ("add", "sub"):
            found["alpha"] = ((beside["list"],), {"alpha": 2})
        found["by name"] = ((), {TWO[base]: beside["list"]})
        return found
    if base in PRODUCTS:
        lists = (tensors(lib, 0.3), tensors(lib, 0.4))
        return {
            "alone": (lists, {}),
            "number": ((*lists, 0.5), {}),
            "by name": (lists, {"value": 0.5}),
            "numbers": ((*lists, [1.5, 2, 0.25]), {}),
            "tensor": ((*lists, lib.tensor([1.5, 2, 0.25])), {}),
        }
    if base == "lerp":
        end = tensors(lib, 0.5)
        return {k: ((end, v), {}) for k, v in beside.items() if k != "scalar"}
    if base == "mm":
        return {"list": (([lib.ones(2, 2)],), {})}
    return {"list": ((tensors(lib, 0.3),), {})}


def outcome(lib: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    writes = name.endswith("_")
    first = [lib.eye(2)] if name == "_foreach_mm" else tensors(lib, grad=not writes)
    try:
        found = getattr(lib, name)(first, *args, **kwargs)
    except (RuntimeError, TypeError) as error:
        return type(error)
    results = first if found is None else found
    values = [(str(each.dtype).split(".")[1], each.detach().cpu().numpy()) for each in results]
    if not results[0].requires_grad:
        return type(found) is list, values
    try:
        gradients = lib.autograd.grad(sum(each.sum() for each in results), first)
    except RuntimeError as error:  # PyTorch has no derivative where scalars are in a tensor
        assert "is not implemented" in str(error)
        return False, values
    return False, values + [("", each.cpu().numpy()) for each in gradients]


def test_pytorchs_functions_are_those_here() -> None:
    assert set(FOREACH) == {name for name in dir(torch) if name.startswith("_foreach_")}
    assert all(callable(getattr(dovetail, name)) for name in FOREACH)


@pytest.mark.parametrize("name", FOREACH)
def test_each_gives_what_pytorch_gives(name: str) -> None:
    ours, theirs = calls(name, dovetail), calls(name, torch)
    for kind in ours:
        expected, found = outcome(torch, name, *theirs[kind]), outcome(dovetail, name, *ours[kind])
        if isinstance(expected, type) or isinstance(found, type):
            assert found == expected, kind
            continue
        assert found[0] == expected[0], kind
        for (dtype, mine), (their_dtype, other) in zip(found[1], expected[1], strict=False):
            assert dtype == their_dtype, kind
            np.testing.assert_allclose(mine, other, rtol=2e-6, err_msg=kind)


BAD: dict[str, Any] = {
    "lists of two lengths": lambda lib, a: lib._foreach_add(a, a[:1]),
    "nothing": lambda lib, a: lib._foreach_sqrt([]),
    "numbers of another count": lambda lib, a: lib._foreach_mul_(a, [1.0]),
    "a tensor of dimensions": lambda lib, a: lib._foreach_mul(a, a[0]),
    "one tensor": lambda lib, a: lib._foreach_add(a[0], 1),
    "a string": lambda lib, a: lib._foreach_add(a, "1"),
    "alpha beside a number": lambda lib, a: lib._foreach_add(a, 1, alpha=2),
    "a third list too short": lambda lib, a: lib._foreach_addcmul(a, a, a[:2]),
    "a generator": lambda lib, a: lib._foreach_neg(each for each in a),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused_as_in_pytorch(name: str) -> None:
    with pytest.raises((TypeError, RuntimeError)) as theirs:
        BAD[name](torch, tensors(torch))
    with pytest.raises(theirs.type) as ours:
        BAD[name](dovetail, tensors(dovetail))
    if theirs.type is RuntimeError:
        assert str(ours.value).startswith(str(theirs.value).split(".")[0][:60])


def unfit(lib: Any) -> dict[str, Any]:
    """Return tensors that a write, or one of other operands, is refused for."""
    leaf = lib.full((2,), 4.0).requires_grad_()
    with lib.inference_mode():
        inferred = lib.full((2,), 4.0)
    return {
        "integers": lib.full((2,), 4),
        "bools": lib.ones(2, dtype=lib.bool),
        "complex numbers": lib.full((2,), 4.0 + 1j),
        "a leaf": leaf,
        "a view of a leaf": leaf[:],
        "a view among several": (lib.full((2, 2), 4.0).requires_grad_() * 1).unbind(0)[0],
        "inference": inferred,
        "shared elements": lib.full((1,), 4.0).expand(2),
        "another shape": lib.full((5,), 4.0),
    }


FIRST: dict[str, Callable[[], Any]] = {
    "a tensor": lambda: dovetail.full((2,), 4.0),
    "a view": lambda: dovetail.full((3,), 4.0)[:2],
    "a result that requires grad": lambda: dovetail.full((2,), 4.0).requires_grad_() * 1,
}
"""What stands before it in the list, and may be written."""


@pytest.mark.parametrize("before", FIRST)
@pytest.mark.parametrize("kind", unfit(dovetail))
def test_a_list_is_written_whole_or_not_at_all(kind: str, before: str) -> None:
    refused = 0
    for name in [each for each in FOREACH if each.endswith("_")]:
        for args, kwargs in calls(name, dovetail).values():
            first = FIRST[before]()
            pair = [first, unfit(dovetail)[kind]]
            fitting = [
                [dovetail.ones(2)] * 2
                if isinstance(each, list) and isinstance(each[0], dovetail.Tensor)
                else each[:2]
                if isinstance(each, list)
                else each
                for each in args
            ]
            try:
                getattr(dovetail, name)(pair, *fitting, **kwargs)
            except (RuntimeError, NotImplementedError):
                refused += 1
                assert (first.tolist(), first._version) == ([4.0, 4.0], 0), name
    assert refused > 10

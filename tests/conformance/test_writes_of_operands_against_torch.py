"""A call in place that reads what it writes is differentiated right, or refused, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


def calls() -> dict[str, tuple[str, tuple[Any, ...]]]:
    """Return the methods that write, with a plan of arguments: "u" is the tensor itself, or a view
    of it.
    """
    found: dict[str, tuple[str, tuple[Any, ...]]] = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        arguments = [a for a in schema.arguments if not a.kwarg_only]
        tensors = [str(a.type) for a in arguments].count("Tensor")
        if not (name.endswith("_") and not name.startswith("_") and tensors > 1):
            continue
        if schema.arguments[0].alias_info is None or not hasattr(torch.Tensor, name):
            continue
        plan = []
        for argument in arguments[1:]:
            match str(argument.type):
                case "Tensor":
                    plan.append(argument.name if argument.name in ("index", "mask") else "u")
                case "int":
                    plan.append(0)
                case "number" | "float":
                    plan.append(1.5)
                case _:
                    if not argument.has_default_value():
                        break
        else:
            found[f"{name}.{schema.overload_name}"] = (name, tuple(plan))
    return found


CALLS = calls()


def gradient(lib: Any, method: str, plan: tuple[Any, ...], view: Callable[[Any], Any]) -> Any:
    """Return the gradient of a call, or "refused"."""
    x = lib.tensor([[0.3, 0.4], [0.6, 0.7]], dtype=lib.float64, requires_grad=True)
    u = x * 2
    try:
        read = view(u)
        index = lib.arange(read.shape[0])
        meant = {
            "u": read,
            "mask": read > 0.5,
            "index": index if "index" in method else index[None],
        }
        getattr(view(u), method)(*[meant.get(each, each) for each in plan])
        u.pow(2).sum().backward()
    except (RuntimeError, IndexError, TypeError, NotImplementedError):
        return "refused"
    return [number for row in x.grad.tolist() for number in row]


VIEWS: dict[str, Callable[[Any], Any]] = {
    "the tensor": lambda u: u,
    "a view of all": lambda u: u.view(2, 2),
    "a view of a row": lambda u: u[:1],
}


RIGHT_HERE = {
    # PyTorch refuses memory that is read while it is written to.
    "copy_", "index_add_", "index_copy_", "masked_scatter_", "scatter_", "scatter_add_", "take_",
    # Its derivative does not need the numbers.
    "nextafter_",
}  # fmt: skip

REFUSED_HERE = {"bernoulli_"}  # its derivative keeps the chances, there their shape


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("call", CALLS)
def test_a_write_that_reads_what_it_writes(call: str, view: str) -> None:
    method, plan = CALLS[call]
    if not hasattr(dovetail.Tensor, method):
        pytest.skip("not in Dovetail")
    ours, theirs = (gradient(lib, method, plan, VIEWS[view]) for lib in (dovetail, torch))
    if method in (RIGHT_HERE if theirs == "refused" else REFUSED_HERE):
        return
    if method.startswith("logical_"):
        # What is written is a constant, whose gradient PyTorch takes for that of before.
        assert not any(own for own, other in zip(ours, theirs, strict=True) if own != other)
        return
    if "refused" in (ours, theirs):
        assert ours == theirs
    else:
        assert ours == pytest.approx(theirs, nan_ok=True)


def test_that_there_are_such_calls() -> None:
    assert len(CALLS) > 60

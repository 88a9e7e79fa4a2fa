"""`functionalize` on PyTorch and on Dovetail, and against the function itself: same results, same
written arguments.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail

REMOVABLE = ("mutations", "mutations_and_views")


def logged(lib: Any) -> tuple[Any, list[Any]]:
    """Return a mode that logs operators, and its log."""
    log: list[Any] = []

    class Log(importlib.import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append(func)
            return func(*args, **(kwargs or {}))

    return Log(), log


def functionalize(lib: Any, function: Any, remove: str) -> Any:
    return importlib.import_module(f"{lib.__name__}.func").functionalize(function, remove=remove)


def is_writing(op: Any) -> bool:
    return any(a.alias_info is not None and a.alias_info.is_write for a in op._schema.arguments)


def is_viewing(op: Any) -> bool:
    return any(a.alias_info is not None for a in op._schema.arguments)


PROGRAMS = {
    "in place": lambda t, x: x.add_(1),
    "a row": lambda t, x: (x[0].add_(1), x * 2)[1],
    "a view of a clone": lambda t, x: (y := x.clone(), y[0].add_(1), y.t().mul_(2), y)[-1],
    "a view alone": lambda t, x: x.view(3, 2).sum(0),
    "a returned view": lambda t, x: x[0],
    "a returned argument": lambda t, x: x,
    "out": lambda t, x: t.add(x, 1, out=t.empty(2, 3)),
    "out resized": lambda t, x: t.add(x, 1, out=t.empty(0)),
    "an item": lambda t, x: (x.__setitem__((0, 1), 7.0), x.sum())[1],
    "a slice": lambda t, x: (x.__setitem__((slice(None), slice(1, 3)), x[:, :2] * 1), x + 0)[1],
    "a mask": lambda t, x: (x.__setitem__(x > 2, 0.0), x + 0)[1],
    "copy": lambda t, x: x.copy_(t.ones(3)),
    "zero": lambda t, x: x.zero_(),
    "fill": lambda t, x: x.fill_(3.0),
    "a diagonal": lambda t, x: (x.diagonal().fill_(9.0), x + 0)[1],
    "an expanded operand": lambda t, x: x[0].expand(2, 3) + x,
    "index_put": lambda t, x: (x.index_put_((t.tensor([0]),), t.zeros(3)), x)[1],
    "chunks": lambda t, x: (x.chunk(2)[0].add_(1), x + 0)[1],
    "unbound": lambda t, x: (x.unbind(1)[2].mul_(0), x + 0)[1],
    "split by sizes": lambda t, x: (t.split(x, [1, 2], 1)[1].sub_(1), x + 0)[1],
    "a view of what is written": lambda t, x: (v := x[0], x.add_(1), v + 0)[-1],
    "views of views": lambda t, x: (x.view(6)[1:5].view(2, 2).t()[0].mul_(10), x * 1)[1],
    "permuted": lambda t, x: (x.unsqueeze(0).permute(2, 0, 1)[1].add_(5), x * 1)[1],
    "squeezed": lambda t, x: (x[:1].squeeze(0).add_(5), x * 1)[1],
    "as_strided": lambda t, x: (x.as_strided((2,), (4,), 1).zero_(), x * 1)[1],
    "narrowed": lambda t, x: (x.narrow(1, 1, 2).exp_(), x * 1)[1],
    "a new tensor": lambda t, x: (y := t.zeros(2, 3), y[0].add_(x[1]), y.sum())[-1],
    "relu": lambda t, x: x.sub_(2).relu_(),
    "another dtype": lambda t, x: x.to(t.int64).add_(1),
    "structures": lambda t, x: {"a": [x + 1, (x.mul_(2), 3)]},
    "scalars": lambda t, x: x.sum().item() + x.add_(1)[0, 0].item(),
    "detached": lambda t, x: (x.detach().add_(1), x + 0)[1],
}

RESHAPED = {
    "t": lambda t, x: x.t_(),
    "t, not returned": lambda t, x: (x.t_(), x.sum())[1],
    "t, then a row": lambda t, x: (x.t_(), x[0].add_(1), x)[-1],
    "t of a clone with views": lambda t, x: (
        *(y := x * 1, z := y[0], y.t_(), y[0].add_(5)),
        [z * 1, y],
    )[-1],
    "t of a part": lambda t, x: (v := x[:, :2], v.t_(), v[0].add_(1), x * 1)[-1],
    "t twice": lambda t, x: (y := x * 1, y.t_().t_(), y.add_(1))[-1],
    "transpose": lambda t, x: (y := x * 1, y.transpose_(0, 1), y.mul_(t.ones(3, 1)), [y, x])[-1],
    "swapaxes": lambda t, x: (y := x * 1, y.swapaxes_(0, -1), y)[-1],
    "swapdims": lambda t, x: (y := x * 1, y.swapdims_(-1, 0), y)[-1],
    "unsqueeze": lambda t, x: x.unsqueeze_(1).mul_(2),
    "squeeze": lambda t, x: (y := x.unsqueeze(0), y.squeeze_(), y.mul_(2), [y, x * 1])[-1],
    "squeeze one": lambda t, x: (y := x[None, None] * 1, y.squeeze_(1), y.mul_(2))[-1],
    "squeeze two": lambda t, x: (y := x[None, None] * 1, y.squeeze_((0, 1)), y.mul_(2))[-1],
    "several": lambda t, x: (x.t_(), x.unsqueeze_(0), x.mul_(2), x.sum())[-2:],
    "as_strided": lambda t, x: (y := x * 1, y.as_strided_((3, 2), (1, 3)), y.add_(1))[-1],
    "as_strided from one on": lambda t, x: (y := x * 1, y.as_strided_((2,), (3,), 1), y.add_(1))[
        -1
    ],
    "resize": lambda t, x: x.resize_(3, 2).add_(1),
    "resize to fewer": lambda t, x: (
        *(y := x * 1, v := y[1], y.resize_(2, 2), y.add_(1)),
        [y, v * 1],
    )[-1],
    "resize to more": lambda t, x: (y := x * 1, y.resize_(3, 4), y.view(-1)[:6] * 1)[-1],
    "resize to more, filled": lambda t, x: x.resize_(3, 3).fill_(1),
    "resize of nothing": lambda t, x: (y := x[:0] * 1, y.resize_(2, 3), y.fill_(3))[-1],
    "resize of a view": lambda t, x: (v := x[0], v.resize_(2), v.add_(1), x * 1)[-1],
    "resize_as": lambda t, x: (y := x * 1, y.resize_as_(t.ones(3, 2)), y.add_(1))[-1],
    "set": lambda t, x: (y := t.zeros(1), y.set_(x), y.add_(1), x * 1)[-1],
}  # fmt: skip


def plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def close(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(close(one, other) for one, other in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    return bool(a == pytest.approx(b, rel=1e-5, abs=1e-6, nan_ok=True))


@pytest.mark.parametrize("remove", REMOVABLE)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_written_arguments_are_those_of_the_function_and_of_pytorch(
    name: str, remove: str
) -> None:
    program = PROGRAMS[name]
    found = []
    for lib in (dovetail, torch):
        x, same = lib.arange(6.0).view(2, 3) * 1, lib.arange(6.0).view(2, 3) * 1
        result = plain(functionalize(lib, lambda x, lib=lib: program(lib, x), remove)(x))
        assert [result, x.tolist()] == [plain(program(lib, same)), same.tolist()]
        found.append([result, x.tolist()])
    assert close(*found)


@pytest.mark.parametrize("remove", REMOVABLE)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mode_beneath_sees_no_write_but_the_one_into_the_argument(name: str, remove: str) -> None:
    x = dovetail.arange(6.0).view(2, 3) * 1
    untouched = x.tolist()
    mode, log = logged(dovetail)
    with mode:
        functionalize(dovetail, lambda x: PROGRAMS[name](dovetail, x), remove)(x)
    writes = [str(op) for op in log if is_writing(op)]
    assert writes == (["aten.copy_.default"] if x.tolist() != untouched else [])
    if remove == "mutations_and_views":
        assert not [op for op in log if is_viewing(op) and not is_writing(op)]


@pytest.mark.parametrize("remove", REMOVABLE)
@pytest.mark.parametrize(
    "name",
    ["in place", "a row", "zero", "out", "copy", "a diagonal", "fill", "an expanded operand"],
)
def test_a_mode_beneath_sees_pytorchs_functional_operators(name: str, remove: str) -> None:
    seen = []
    for lib in (dovetail, torch):
        mode, log = logged(lib)
        x = lib.arange(6.0).view(2, 3) * 1
        with mode:
            functionalize(lib, lambda x, lib=lib: PROGRAMS[name](lib, x), remove)(x)
        seen.append({str(op) for op in log})
    assert seen[0] == seen[1]


WRITES = [
    "add_(1)",
    "mul_(2)",
    "sub_(y[0, 0])",
    "zero_()",
    "copy_(v * 1 + 1)",
    "fill_(0.5)",
    "mul_(-1)",
]
VIEWS = [
    "[0]",
    "[:, 1:]",
    ".mT",
    ".reshape(-1)",
    ".unsqueeze(0)",
    "[..., ::2]",
    ".diagonal()",
    ".transpose(0, 1)",
    "[-1:]",
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(VIEWS), max_size=2), st.sampled_from(WRITES)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(REMOVABLE),
    st.booleans(),
    st.booleans(),
)
def test_random_writes_to_views_give_the_results_and_gradients_of_the_function(
    steps: list[tuple[list[str], str]], remove: str, with_grad: bool, transposed: bool
) -> None:
    def program(x: Any, y: Any) -> Any:
        kept = []
        x = x * 1
        if transposed:
            x = x.t() * 1
        for views, write in steps:
            v = x
            for view in views:
                if v.dim() >= 2 or view in (".unsqueeze(0)", ".reshape(-1)"):
                    v = eval(f"v{view}", {"v": v})
            kept.append(v)
            eval(f"v.{write}", {"v": v, "y": y})
        return [x, *kept]

    outcomes = []
    for function in (program, functionalize(dovetail, program, remove)):
        x = (dovetail.arange(9.0).view(3, 3) / 10 - 0.3).requires_grad_(with_grad)
        y = dovetail.full((2, 2), 0.7, requires_grad=with_grad)
        results = function(x, y)
        outcome = [each.tolist() for each in results]
        if with_grad:
            total = sum((each.sum() for each in results[:1]), dovetail.zeros(()))
            outcome += [
                each.tolist()
                for each in dovetail.autograd.grad(total, [x, y], materialize_grads=True)
            ]
        outcomes.append(outcome)
    assert close(*outcomes)


def test_gradients_flow_through_twice() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y[0:1].mul_(x[1:2])
        return (y * y * y).sum()

    found = []
    for lib, function in (
        (dovetail, functionalize(dovetail, f, "mutations_and_views")),
        (torch, f),
    ):
        x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (first,) = lib.autograd.grad(function(x), x, create_graph=True)
        (second,) = lib.autograd.grad((first * first).sum(), x)
        found.append([first.tolist(), second.tolist()])
    assert found[0] == found[1]


def as_strided_of_a_transposed_clone(lib: Any, x: Any) -> Any:
    y = x.mT.clone()
    part = y.as_strided((4,), (1,), 1)
    y.mul_(2)
    y.mT.sin_()
    part.neg_()
    y[0].cos_()
    y.as_strided((2, 2), (1, 3), 1).add_(9)
    return [part * 1, y * 1]


@pytest.mark.parametrize("remove", REMOVABLE)
def test_as_strided_shows_the_memory_of_dimensions_in_another_order(remove: str) -> None:
    """PyTorch's memory is another one where views are removed: its `mT` is a contiguous copy."""
    x = dovetail.arange(6.0).view(2, 3)
    found = functionalize(
        dovetail, lambda x: as_strided_of_a_transposed_clone(dovetail, x), remove
    )(x)
    expected = as_strided_of_a_transposed_clone(torch, torch.arange(6.0).view(2, 3))
    assert close(plain(found), plain(expected))


def test_what_can_be_removed_is_said() -> None:
    for lib in (dovetail, torch):
        with pytest.raises(
            RuntimeError, match=r"received invalid argument for remove=views. Valid options are:"
        ):
            functionalize(lib, lambda x: x, "views")(lib.ones(1))


@pytest.mark.parametrize("remove", REMOVABLE)
@pytest.mark.parametrize("name", RESHAPED)
def test_tensors_change_their_shape_in_place(name: str, remove: str) -> None:
    program = RESHAPED[name]
    found = []
    for lib in (dovetail, torch):
        x, same = lib.arange(6.0).view(2, 3) * 1, lib.arange(6.0).view(2, 3) * 1
        result = plain(functionalize(lib, lambda x, lib=lib: program(lib, x), remove)(x))
        assert [result, x.tolist()] == [plain(program(lib, same)), same.tolist()]
        found.append([result, x.tolist()])
    assert close(*found)


@pytest.mark.parametrize("remove", REMOVABLE)
@pytest.mark.parametrize("name", [n for n in RESHAPED if not n.startswith(("resize", "set"))])
def test_what_changes_its_shape_has_the_gradients_of_the_function(name: str, remove: str) -> None:
    def gradient(function: Any) -> Any:
        def total(x: Any) -> Any:
            made = function(x * 1)
            results = made if isinstance(made, list | tuple) else [made]
            return sum((each * each).sum() for each in results)

        return dovetail.func.grad(total)(dovetail.arange(6.0).view(2, 3)).tolist()

    def program(x: Any) -> Any:
        return RESHAPED[name](dovetail, x)

    assert gradient(functionalize(dovetail, program, remove)) == gradient(program)

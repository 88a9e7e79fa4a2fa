"""Private functions of PyTorch that packages import, beside ours."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

import dovetail


def both(module: str, name: str) -> list[Any]:
    return [getattr(import_module(f"{each}.{module}"), name) for each in ("torch", "dovetail")]


@pytest.mark.parametrize("seed", [0, 5, 123456789012345, 0x123456789ABCDEF0, 2**63 - 1])
def test_the_seed_of_numpy_in_a_worker(seed: int) -> None:
    theirs, ours = both("utils.data._utils.worker", "_generate_state")
    assert ours(seed, 3) == theirs(seed, 3)


@pytest.mark.parametrize("start", [0.01, 0.5, 1.0, 8.0, 300.0])
@pytest.mark.parametrize("flatness", [0.9, 0.1])
def test_a_line_search_of_a_program(start: float, flatness: float) -> None:
    found = []
    for lib, search in zip((torch, dovetail), both("optim.lbfgs", "_strong_wolfe"), strict=True):
        calls = []

        def evaluate(x: Any, t: Any, d: Any, lib: Any = lib, calls: Any = calls) -> Any:
            at = (x + t * d).detach().requires_grad_()
            loss = ((at - 2) ** 4 + at.cos()).sum()
            (gradient,) = lib.autograd.grad(loss, at)
            calls.append(float(t))
            return loss.item(), gradient

        x = lib.tensor([0.0, 1.0], dtype=lib.float64)
        loss, gradient = evaluate(x, 0.0, x)
        direction = -gradient
        made = search(
            evaluate,
            x,
            start,
            direction,
            loss,
            gradient,
            gradient.dot(direction),
            c2=flatness,
            max_ls=10,
        )
        found.append((made[0], made[1].tolist(), float(made[2]), made[3], calls))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-9)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[1][4], found[0][4], rtol=1e-9)
    np.testing.assert_allclose(found[1][2], found[0][2], rtol=1e-9)
    assert found[1][3] == found[0][3]


@pytest.mark.parametrize("bounds", [None, (0.2, 0.3), (-5.0, 5.0)])
def test_the_minimum_of_a_cubic(bounds: Any) -> None:
    theirs, ours = both("optim.lbfgs", "_cubic_interpolate")
    for places in ((0.0, 1.0, -2.0, 1.0, 0.5, 3.0), (1.0, 0.5, 3.0, 0.0, 1.0, -2.0)):
        found = [
            function(*[lib.tensor(each, dtype=lib.float64) for each in places], bounds)
            for lib, function in ((torch, theirs), (dovetail, ours))
        ]
        assert float(found[1]) == pytest.approx(float(found[0]))


def test_the_pieces_of_a_jacobian() -> None:
    results = []
    for lib in (torch, dovetail):
        module = import_module(f"{lib.__name__}.autograd.functional")
        x = lib.arange(6.0).reshape(2, 3)
        basis = module._construct_standard_basis_for((x, x[0]), (6, 3))
        is_tuple, tensors = module._as_tuple(x, "inputs", "jacobian")
        nested = module._grad_postprocess(((x, x), (x,)), create_graph=False)
        results.append(
            (
                [each.tolist() for each in basis],
                is_tuple,
                len(tensors),
                module._tuple_postprocess(nested, (True, False))[0].tolist(),
                module._tuple_postprocess(nested, (False, True))[1].tolist(),
                module._tuple_postprocess((1,), False),
            )
        )
        with pytest.raises(TypeError, match="jacobian"):
            module._as_tuple(1, "inputs", "jacobian")
    assert results[0] == results[1]


def test_instructions_of_the_processor() -> None:
    theirs, ours = both("backends.cpu", "get_cpu_capability")
    assert ours() in ("AVX512", "AVX2", "DEFAULT")
    assert theirs() == ours() or "AVX" not in theirs()


def test_whether_a_transform_wraps_a_tensor() -> None:
    for lib in (torch, dovetail):
        module = import_module(f"{lib.__name__}._C._functorch")
        seen = []

        def function(x: Any, module: Any = module, seen: Any = seen) -> Any:
            seen.append(module.is_batchedtensor(x))
            if seen[-1]:
                seen.append(tuple(module.get_unwrapped(x).shape))
            return x.sum()

        lib.func.vmap(function)(lib.ones(2, 3))
        lib.func.grad(function)(lib.ones(3))
        assert seen == [True, (2, 3), False]
        assert not module.is_batchedtensor(lib.ones(2))


def test_a_module_with_the_attributes_of_another() -> None:
    for lib in (torch, dovetail):
        made = import_module(f"{lib.__name__}.fx.graph_module")._CodeOnlyModule({"a": 3})
        assert isinstance(made, lib.nn.Module) and made.a == 3


@pytest.mark.parametrize("allow_missing", [False, True])
@pytest.mark.parametrize("name", ["weight", "bias", "running", "plain", "number", "none", "a.b"])
@pytest.mark.parametrize("takes_away", [False, True])
def test_a_tensor_of_a_module_is_swapped(name: str, takes_away: bool, allow_missing: bool) -> None:
    results = []
    for lib in (torch, dovetail):
        accessor = import_module(f"{lib.__name__}.nn.utils._named_member_accessor")
        module = lib.nn.Linear(2, 1, bias=False)
        module.register_buffer("running", lib.ones(1))
        module.plain, module.number = lib.zeros(3), 3
        module.weight.data.fill_(1)
        try:
            put = accessor._MISSING if takes_away else lib.ones(1, 2)
            before = accessor.swap_tensor(module, name, put, allow_missing)
        except (AttributeError, KeyError, TypeError) as error:
            results.append(type(error))
            continue
        after = getattr(module, name, "nothing")
        results.append(
            [
                each.tolist() if isinstance(each, lib.Tensor) else str(each).partition(" at ")[0]
                for each in (before, after)
            ]
        )
    assert results[0] == results[1]


def test_containers_with_keys_and_named_tuples_in_c() -> None:
    import time

    results = []
    for lib in (torch, dovetail):
        tree = import_module(f"{lib.__name__}.utils._pytree")
        with_keys = [tree._list_flatten_with_keys([1, 2]), tree._tuple_flatten_with_keys((1, 2))]
        results.append(
            (
                [[(str(key), value) for key, value in items] for items, _ in with_keys],
                [tree.is_structseq_instance(each) for each in (time.gmtime(0), (1,), 3)],
                tree.is_structseq_class(time.struct_time),
            )
        )
    assert results[0] == results[1]


def test_a_context_manager_of_a_program_decorates() -> None:
    results = []
    for lib in (torch, dovetail):
        module = import_module(f"{lib.__name__}.utils._contextlib")
        seen: list[Any] = []

        class Mode(module._DecoratorContextManager):  # type: ignore[name-defined, misc]
            def __init__(self, name: str, seen: Any = seen) -> None:
                self.name, self.seen = name, seen

            def __enter__(self) -> None:
                self.seen.append(("in", self.name))

            def __exit__(self, *error: object) -> None:
                self.seen.append(("out", self.name))

            def clone(self) -> Any:
                return type(self)(self.name)

        @Mode("a")
        def function(x: int, seen: Any = seen) -> int:
            seen.append(x)
            return x + 1

        @Mode("b")
        def steps(seen: Any = seen) -> Any:
            seen.append((yield 1))

        made = steps()
        seen.append((function(1), next(made)))
        with pytest.raises(StopIteration):
            made.send(2)

        class Bare(module._NoParamDecoratorContextManager):  # type: ignore[name-defined, misc]
            def __enter__(self, seen: Any = seen) -> None:
                seen.append("bare")

            def __exit__(self, *error: object) -> None:
                pass

        seen.append(Bare(lambda: 5)())
        with Bare():
            pass
        results.append(seen)
    assert results[0] == results[1]

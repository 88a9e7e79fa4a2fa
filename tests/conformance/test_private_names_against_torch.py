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


def _attention(lib: Any, f: Any) -> list[Any]:
    x, other = lib.arange(24.0).reshape(2, 3, 4), lib.arange(60.0).reshape(5, 3, 4)
    weight, bias = lib.arange(48.0).reshape(12, 4).sin(), lib.arange(12.0)
    found: list[Any] = [*f._in_projection_packed(x, x, x, weight, bias)]
    found += f._in_projection_packed(x, other, other, weight)
    found += f._in_projection(x, other, other, *weight.chunk(3), *bias.chunk(3))
    mask = lib.tensor([True, False])
    found += [
        f._canonical_mask(mask, "a", f._none_or_dtype(mask), "b", lib.float64),
        f._canonical_mask(mask.float(), "a", None, "b", lib.float64),
        f._canonical_mask(None, "a", None, "b", lib.float64),
        f._none_or_dtype(None),
        f._mha_shape_check(x, x, x, None, None, 2),
        f._mha_shape_check(x[0], x[0], x[0], x[0, 0], lib.ones(2, 3, 3), 2),
        f._verify_batch_size([2, 3]),
        f.has_torch_function((x,)),
    ]
    for wrong in (
        lambda: f._in_projection(x, x, x, weight, weight, weight),
        lambda: f._canonical_mask(mask.int(), "a", None, "b", lib.float64),
        lambda: f._mha_shape_check(x, x[0], x, None, None, 2),
        lambda: f._verify_batch_size([1, 3, 1]),
    ):
        with pytest.raises((AssertionError, ValueError)) as error:
            wrong()
        found.append(type(error.value).__name__)
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        found.append(f._get_softmax_dim("softmax", 2, 3))
    return found


def test_pieces_of_attention_that_copies_of_it_call() -> None:
    theirs, ours = (_attention(lib, lib.nn.functional) for lib in (torch, dovetail))
    for their, our in zip(theirs, ours, strict=True):
        if isinstance(their, torch.Tensor):
            np.testing.assert_allclose(our.cpu().numpy(), their.numpy(), rtol=1e-5, atol=1e-4)
            assert our.stride() == their.stride()
        else:
            assert our == their


def test_helpers_of_optimizers_of_programs() -> None:
    found = []
    for lib in (torch, dovetail):
        module = import_module(f"{lib.__name__}.optim.optimizer")
        x, counts = lib.ones(2), lib.ones(2, dtype=lib.int32)

        class Rule:
            def __init__(self, differentiable: bool) -> None:
                self.defaults = {"differentiable": differentiable}

            @module._use_grad_for_differentiable  # type: ignore[untyped-decorator]
            def step(self, lib: Any = lib) -> bool:
                return bool(lib.is_grad_enabled())

        parameters, state = [x, x.to(lib.complex64)], [x, 1j * x]
        module._view_as_real(parameters, state)
        with pytest.raises(RuntimeError, match="to be floating point Tensors of supported devices"):
            module._device_dtype_check_for_fused(counts)
        with lib.no_grad():
            recorded = Rule(True).step()
        found.append(
            [
                *(recorded, Rule(False).step(), lib.is_grad_enabled()),
                *(module._get_value(x[0]), module._get_value(3), module._stack_if_compiling(3)),
                *(module._to_scalar(x[:1]).shape, module._to_scalar(2)),
                str(module._get_scalar_dtype()).partition(".")[2],
                [[each.cpu().tolist() for each in tensors] for tensors in (parameters, state)],
                module._default_to_fused_or_foreach([x.cpu()], False, True),
                module._disable_dynamo_if_unsupported()(Rule) is not None,
                isinstance(module._maximize_doc, str),
            ]
        )
    assert found[1] == found[0]


def test_names_that_copies_of_layers_import() -> None:
    from_where = {
        "_tensor": "Tensor",
        "_jit_internal": "List Optional unused",
        "nn.functional": "Tensor _pair _single _triple handle_torch_function",
        "nn.modules.conv": "_pair _single _triple _reverse_repeat_tuple Module Parameter Tensor",
        "nn.modules.transformer": "F Module ModuleList MultiheadAttention Dropout Linear LayerNorm",
    }
    for module, names in from_where.items():
        for name in names.split():
            theirs, ours = both(module, name)
            assert getattr(ours, "__name__", "") == getattr(theirs, "__name__", "") or name == "F"
    theirs, ours = both("nn.modules.module", "_addindent")
    assert ours("a\nb", 3) == theirs("a\nb", 3)
    theirs, ours = both("nn.modules.transformer", "_get_clones")
    assert repr(ours(dovetail.nn.ReLU(), 2)) == repr(theirs(torch.nn.ReLU(), 2))
    theirs, ours = both("nn.modules.transformer", "_get_activation_fn")
    assert ours("gelu") is dovetail.nn.functional.gelu

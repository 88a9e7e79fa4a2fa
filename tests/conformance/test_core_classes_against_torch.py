"""Classes of nodes, contexts and variables: who descends from whom, in both libraries."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import weakref
from collections import OrderedDict
from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


def double(lib: Any) -> Any:
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    return Double


def same(program: Any) -> Any:
    """What a program gives with Dovetail, after PyTorch gave the same."""
    results = []
    for lib in (torch, dovetail):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = program(lib)
            except Exception as error:
                result = type(error)
        results.append((result, [each.category for each in caught]))
    assert results[0] == results[1]
    return results[1][0]


def names(classes: Any) -> list[str]:
    return [each.__name__ for each in classes if each is not dovetail.autograd.graph.Node]


def test_a_function_and_its_nodes_descend_from_the_same_classes() -> None:
    def program(lib: Any) -> Any:
        function = double(lib)
        node = function.apply(lib.ones(2, requires_grad=True)).grad_fn
        places = [each.__module__.partition(".")[2] for each in type(node).__mro__[:2]]
        return names(type(node).__mro__), names(function.__mro__), places, type(function).__name__

    assert same(program)[0][:2] == ["DoubleBackward", "BackwardCFunction"]


def test_nodes_are_told_apart_by_class() -> None:
    def program(lib: Any) -> Any:
        function = double(lib)
        x = lib.ones(2, requires_grad=True)
        nodes = [function.apply(x).grad_fn, (x * 2).grad_fn, (x * 2).grad_fn.next_functions[0][0]]
        classes = [
            lib._C._FunctionBase,
            lib.autograd.Function,
            lib.autograd.function.FunctionCtx,
            lib.autograd.function.BackwardCFunction,
            lib.autograd.graph.Node,
            lib._C._functions.MulBackward0,
            lib._C._functions.AccumulateGrad,
        ]
        return [[isinstance(node, each) for each in classes] for node in nodes]

    same(program)


def test_a_node_knows_its_function() -> None:
    def program(lib: Any) -> Any:
        function = double(lib)
        node = function.apply(lib.ones(2, requires_grad=True)).grad_fn
        assert weakref.ref(node)() is node
        return (
            node._forward_cls is function,
            type(node) is function._backward_cls,
            re.sub("0x[0-9a-f]+|torch|dovetail", "", repr(node)),
        )

    assert same(program)[:2] == (True, True)


def test_edges_print_as_pairs() -> None:
    def program(lib: Any) -> Any:
        x = lib.ones(2, requires_grad=True)
        return re.sub("0x[0-9a-f]+", "", repr((x * 2).grad_fn.next_functions))

    same(program)


def test_a_context_made_by_hand_keeps_what_it_is_given() -> None:
    def program(lib: Any) -> Any:
        context = lib.autograd.function.FunctionCtx()
        tensor = lib.ones(2)
        context.save_for_backward(tensor, None)
        context.save_for_forward(tensor)
        context.mark_dirty(tensor)
        context.mark_non_differentiable(tensor)
        context.mark_shared_storage((tensor, tensor))
        context.set_materialize_grads(False)
        context.scale = 2
        return sorted(vars(context)), context.materialize_grads, len(context.to_save)

    same(program)


def test_forward_values_are_tensors() -> None:
    same(lambda lib: lib.autograd.function.FunctionCtx().save_for_forward(3))


@pytest.mark.parametrize("value", [True, False])
def test_materialize_grads_may_be_assigned(value: bool) -> None:
    def program(lib: Any) -> Any:
        seen = []

        class Pair(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.materialize_grads = value
                return x * 1, x * 2

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                seen.extend(each is None for each in grads)
                return grads[0]

        Pair.apply(lib.ones(2, requires_grad=True))[0].sum().backward()
        return seen

    assert same(program) == [False, not value]


def test_saved_tensors_are_cleared_by_reading_on_request() -> None:
    def program(lib: Any) -> Any:
        class Square(lib.autograd.Function):
            clear_saved_tensors_on_access = True

            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                (x,) = ctx.saved_tensors
                with pytest.raises(RuntimeError, match="only be accessed once"):
                    _ = ctx.saved_tensors
                return 2 * x * grad

        x = lib.ones(2, requires_grad=True)
        y = Square.apply(x).sum()
        y.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="only be accessed once"):
            y.backward()
        return x.grad.tolist()

    assert same(program) == [2.0, 2.0]


def test_gradients_come_in_one_list_on_request() -> None:
    def program(lib: Any) -> Any:
        class Swap(lib.autograd.Function):
            boxed_grads_call = True

            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                return y * 2, x * 3

            @staticmethod
            def backward(ctx: Any, *boxed: Any) -> Any:
                (grads,) = boxed
                second = grads.pop()
                return second * 3, grads.pop() * 2

        x, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        one, other = Swap.apply(x, y)
        (one + 2 * other).sum().backward()
        return x.grad.tolist(), y.grad.tolist()

    assert same(program) == ([6.0, 6.0], [2.0, 2.0])


def test_hooks_are_added_to_a_dict_that_may_be_missing() -> None:
    def program(lib: Any) -> Any:
        mixin = lib.autograd.function._HookMixin
        hooks, handle = mixin._register_hook(None, print)
        again, _ = mixin._register_hook(hooks, print)
        handle.remove()
        return isinstance(hooks, OrderedDict), again is hooks, len(hooks)

    assert same(program) == (True, True, 1)


def test_a_function_that_is_instantiated_warns() -> None:
    same(lambda lib: double(lib)() and None)
    same(lambda lib: lib.autograd.function.InplaceFunction(True).inplace)


@pytest.mark.parametrize("grad", [True, False])
def test_delayed_errors(grad: bool) -> None:
    def program(lib: Any) -> Any:
        x, y = lib.ones(2, requires_grad=grad), lib.ones(2)
        made = lib._C._functions.DelayedError("not twice", 2)(x, y)
        nodes = [each.grad_fn and each.grad_fn.name().rpartition("::")[2] for each in made]
        with pytest.raises(RuntimeError) as raised:
            (made[0] + made[1]).sum().backward()
        assert grad == ("not twice" in str(raised.value))
        return nodes, [each.requires_grad for each in made], made[0] is x

    same(program)


def test_a_delayed_error_checks_what_it_is_given() -> None:
    for arguments in ((), (1, 2), ("m", "n")):
        with pytest.raises((RuntimeError, TypeError)):
            dovetail._C._functions.DelayedError(*arguments)
    same(lambda lib: lib._C._functions.DelayedError("m", 2)(lib.ones(1)))
    same(lambda lib: lib._C._functions.DelayedError("m", 1)(3))
    same(lambda lib: lib._C._functions.UndefinedGrad()())


def test_an_undefined_gradient_stops() -> None:
    def program(lib: Any) -> Any:
        x = lib.ones(2, requires_grad=True)
        y = lib._C._functions.UndefinedGrad()(x)
        (y * 2).sum().backward()
        return y.grad_fn.name().rpartition("::")[2], x.grad

    same(program)


def test_a_base_of_tensors_makes_none() -> None:
    def program(lib: Any) -> Any:
        assert lib._C.TensorBase is lib._C._TensorBase
        assert issubclass(lib.Tensor, lib._C.TensorBase)
        return lib._C._TensorBase(2, 3)

    assert same(program) is RuntimeError


def test_variables_have_a_base() -> None:
    def program(lib: Any) -> Any:
        made = lib._C._LegacyVariableBase(lib.ones(2), True)
        return (
            issubclass(lib.autograd.Variable, lib._C._LegacyVariableBase),
            isinstance(made, lib.Tensor),
            made.requires_grad,
        )

    assert same(program) == (True, True, True)


def test_storages_have_a_base() -> None:
    same(lambda lib: isinstance(lib.ones(2).untyped_storage(), lib._C.StorageBase))


def test_hooks_for_saved_tensors_are_pushed_and_popped() -> None:
    def program(lib: Any) -> Any:
        seen = []
        core = lib._C._autograd
        core._push_saved_tensors_default_hooks(lambda x: seen.append(1) or x, lambda x: x)
        try:
            lib.ones(2, requires_grad=True).exp()
        finally:
            core._pop_saved_tensors_default_hooks()
        lib.ones(2, requires_grad=True).exp()
        return seen

    assert same(program) == [1]


@pytest.mark.parametrize(
    "name",
    [
        *("Generator", "Size", "Tag", "device", "dtype", "finfo", "iinfo", "layout"),
        *("memory_format", "Stream", "Event", "fork", "wait", "default_generator", "Future"),
        *("get_default_dtype", "get_num_threads", "is_grad_enabled"),
    ],
)
def test_names_of_the_core_are_those_of_the_library(name: str) -> None:
    same(lambda lib: getattr(lib._C, name) is getattr(lib, name))


def test_questions_to_the_core() -> None:
    def program(lib: Any) -> Any:
        core, x = lib._C, lib.ones(2, 3)
        version = x._version
        core._increment_version(x)
        core._increment_version([x, x])
        enabled = []
        core._set_grad_enabled(False)
        enabled.append(core.is_grad_enabled())
        core._set_grad_enabled(True)
        enabled.append(core.is_grad_enabled())
        return (
            x._version - version,
            enabled,
            core._infer_size(x.shape, lib.Size([4, 1, 3])),
            core._any_requires_grad(x),
            core._any_requires_grad(x, x.clone().requires_grad_()),
            core._has_storage(x),
            core._is_alias_of(x, x[0]),
            core._is_alias_of(x, x + 1),
            core._storage_id(x) == core._storage_id(x[1]),
            core._data_address(x) == x.data_ptr(),
            core._is_tracing(),
            tuple(core._non_sym_sizes(x)),
            core._get_deterministic_algorithms(),
            core._get_float32_matmul_precision(),
        )

    same(program)


def test_the_core_refuses_shapes_that_do_not_broadcast() -> None:
    same(lambda lib: lib._C._infer_size(lib.Size([2]), lib.Size([3])))
    same(lambda lib: lib._C._infer_size((2,), (3,)))
    same(lambda lib: lib._C.qscheme())


_QUESTIONS = """
import {0}
for name in ("_prelu_kernel", "prelu", "silu", "add.Tensor", "square", "sum.dim_IntList"):
    for key in ("Meta", "CPU"):
        print(name, key, {0}._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, key))
"""


def test_kernels_of_a_backend_are_found_before_it_was_used() -> None:
    """Questions to the table load a backend: here in a process without any tensor."""
    answers = [
        subprocess.run(
            [sys.executable, "-c", _QUESTIONS.format(lib)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for lib in ("torch", "dovetail")
    ]
    assert "silu Meta True" in answers[0]
    assert answers[1] == answers[0]

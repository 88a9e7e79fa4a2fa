"""Hooks of modules: forward, backward, registration, global ones, and their handles."""

import pytest

import dovetail
from dovetail import nn


class Recorder:
    """Makes hooks that note their name when called."""

    def __init__(self):
        self.calls = []

    def __call__(self, name):
        return lambda *args: self.calls.append(name)


def test_forward_hooks_run_around_forward_in_order():
    note, linear = Recorder(), nn.Linear(1, 1)
    linear.register_forward_hook(note("after 1"))
    linear.register_forward_pre_hook(note("before 1"))
    linear.register_forward_hook(note("after 0"), prepend=True)
    linear.register_forward_pre_hook(note("before 0"), prepend=True)
    linear(dovetail.ones(1, 1))
    assert note.calls == ["before 0", "before 1", "after 0", "after 1"]


def test_a_removed_hook_is_not_called():
    note, linear = Recorder(), nn.Linear(1, 1)
    handle = linear.register_forward_hook(note("never"))
    handle.remove()
    handle.remove()
    linear(dovetail.ones(1, 1))
    assert note.calls == []


def test_a_handle_is_a_context_manager():
    note, identity = Recorder(), nn.Identity()
    with identity.register_forward_hook(note("inside")):
        identity(1)
    identity(1)
    assert note.calls == ["inside"]


def test_a_pre_hook_replaces_the_arguments():
    identity = nn.Identity()
    identity.register_forward_pre_hook(lambda module, args: args[0] + 1)
    identity.register_forward_pre_hook(lambda module, args: (args[0] * 10,))
    assert identity(1) == 20


def test_a_forward_hook_replaces_the_output():
    identity = nn.Identity()
    identity.register_forward_hook(lambda module, args, output: output + args[0])
    assert identity(2) == 4


def test_hooks_with_kwargs_see_and_replace_them():
    class Adder(nn.Module):
        def forward(self, a, b=0):
            return a + b

    adder, seen = Adder(), []
    adder.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"b": kwargs["b"] + 1}), with_kwargs=True
    )
    adder.register_forward_hook(
        lambda m, args, kwargs, output: seen.append((args, kwargs, output)), with_kwargs=True
    )
    assert adder(1, b=2) == 4
    assert seen == [((1,), {"b": 3}, 4)]


def test_a_pre_hook_with_kwargs_must_return_both():
    identity = nn.Identity()
    identity.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(
        RuntimeError,
        match=r"forward pre-hook must return None or a tuple of \(new_args, new_kwargs\)",
    ):
        identity(1)


def test_an_always_called_hook_runs_when_forward_raises():
    note, module = Recorder(), nn.Module()
    module.register_forward_hook(note("usual"))
    module.register_forward_hook(note("always"), always_call=True)
    with pytest.raises(NotImplementedError):
        module(1)
    assert note.calls == ["always"]


def test_a_failing_always_called_hook_only_warns():
    def fail(module, args, output):
        raise ValueError("from the hook")

    module = nn.Module()
    module.register_forward_hook(fail, always_call=True)
    with (
        pytest.warns(UserWarning, match="always_call=True.*from the hook"),
        pytest.raises(NotImplementedError),
    ):
        module(1)


def test_global_hooks_run_before_own_ones_for_every_module():
    note, identity = Recorder(), nn.Identity()
    identity.register_forward_pre_hook(note("own before"))
    identity.register_forward_hook(note("own after"))
    with (
        nn.register_module_forward_pre_hook(note("global before")),
        nn.register_module_forward_hook(note("global after")),
    ):
        identity(1)
    identity(1)
    assert note.calls == [
        "global before",
        "own before",
        "global after",
        "own after",
        "own before",
        "own after",
    ]


def test_registration_hooks_see_and_replace_what_is_registered():
    replacement = nn.Parameter(dovetail.zeros(1))
    seen = []
    with (
        nn.register_module_parameter_registration_hook(lambda m, name, value: replacement),
        nn.register_module_buffer_registration_hook(lambda m, name, value: seen.append(name)),
        nn.register_module_module_registration_hook(lambda m, name, value: seen.append(name)),
    ):
        module = nn.Module()
        module.p = nn.Parameter(dovetail.ones(1))
        module.register_buffer("b", None)
        module.child = nn.Identity()
        tables = nn.modules.module
        assert len(tables._global_parameter_registration_hooks) == 1
        assert len(tables._global_buffer_registration_hooks) == 1
        (hook,) = tables._global_module_registration_hooks.values()
        hook(module, "by hand", None)
    assert module.p is replacement
    assert seen == ["b", "child", "by hand"]
    assert not tables._global_parameter_registration_hooks


# Backward


def test_all_hooks_run_in_pytorchs_order():
    note, linear = Recorder(), nn.Linear(1, 1)
    linear.register_forward_pre_hook(note("pre"))
    linear.register_forward_hook(note("fwd"))
    linear.register_full_backward_pre_hook(note("bpre"))
    linear.register_full_backward_hook(note("bwd"))
    linear.weight.register_hook(note("param"))
    linear(dovetail.ones(1, 1, requires_grad=True)).sum().backward()
    assert note.calls == ["pre", "fwd", "bpre", "param", "bwd"]


def test_backward_hooks_see_the_gradients():
    seen = {}
    linear = nn.Linear(2, 1, bias=False)
    linear.register_full_backward_hook(
        lambda m, grad_input, grad_output: seen.update(i=grad_input, o=grad_output)
    )
    linear(dovetail.ones(1, 2, requires_grad=True)).sum().backward()
    assert seen["o"][0].tolist() == [[1.0]]
    assert seen["i"][0].tolist() == linear.weight.tolist()


def test_backward_hooks_replace_the_gradients():
    x = dovetail.ones(1, requires_grad=True)
    identity = nn.Identity()
    identity.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] * 3,))
    identity.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 5,))
    (identity(x) * 1).sum().backward()
    assert x.grad.tolist() == [15.0]


def test_backward_hooks_put_none_where_no_tensor_is():
    class Scale(nn.Module):
        def forward(self, factor, x):
            return factor * x, "text"

    seen = {}
    scale = Scale()
    scale.register_full_backward_hook(
        lambda m, grad_input, grad_output: seen.update(i=grad_input, o=grad_output)
    )
    out, text = scale(2, dovetail.ones(1, requires_grad=True))
    out.sum().backward()
    assert text == "text"
    assert seen["i"][0] is None
    assert seen["i"][1].tolist() == [2.0]
    assert seen["o"][1] is None


def test_without_an_input_that_requires_grad_the_hook_gets_none():
    seen = []
    linear = nn.Linear(1, 1)
    linear.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append(grad_input))
    with pytest.warns(
        UserWarning,
        match="Full backward hook is firing when gradients are computed with respect to",
    ):
        linear(dovetail.ones(1, 1)).sum().backward()
    assert seen == [(None,)]
    assert linear.weight.grad is not None


def test_a_hook_may_not_return_gradients_for_inputs_that_need_none():
    linear = nn.Linear(1, 1)
    linear.register_full_backward_hook(lambda m, grad_input, grad_output: (dovetail.ones(1, 1),))
    with (
        pytest.warns(UserWarning, match="Full backward hook is firing"),
        pytest.raises(
            RuntimeError, match="where no input requires gradient should always return None"
        ),
    ):
        linear(dovetail.ones(1, 1)).sum().backward()


def test_a_backward_hook_must_return_one_gradient_per_input():
    identity = nn.Identity()
    identity.register_full_backward_hook(lambda m, grad_input, grad_output: (None, None))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        (identity(dovetail.ones(1, requires_grad=True)) * 1).sum().backward()


def test_a_backward_pre_hook_must_return_one_gradient_per_output():
    identity = nn.Identity()
    identity.register_full_backward_pre_hook(lambda m, grad_output: (None, None))
    with pytest.raises(RuntimeError, match="invalid number of grad_output, got 2, but expected 1"):
        (identity(dovetail.ones(1, requires_grad=True)) * 1).sum().backward()


def test_the_output_of_a_hooked_module_may_not_be_modified_in_place():
    linear = nn.Linear(1, 1)
    linear.register_full_backward_hook(lambda *args: None)
    output = linear(dovetail.ones(1, 1))
    with pytest.raises(
        RuntimeError,
        match="Output 0 of BackwardHookFunction is a view and is being modified inplace",
    ):
        output.add_(1)


def test_global_backward_hooks_see_every_module():
    note = Recorder()
    with (
        nn.register_module_full_backward_pre_hook(note("pre")),
        nn.register_module_full_backward_hook(note("full")),
    ):
        (nn.Identity()(dovetail.ones(1, requires_grad=True)) * 1).sum().backward()
    assert note.calls == ["pre", "full"]


def test_backward_hooks_cost_nothing_under_no_grad():
    linear = nn.Linear(1, 1)
    linear.register_full_backward_hook(lambda *args: None)
    with dovetail.no_grad():
        assert linear(dovetail.ones(1, 1)).grad_fn is None


def test_a_second_backward_past_the_output_calls_no_backward_hook():
    note = Recorder()
    layer = nn.Sigmoid()
    layer.register_full_backward_hook(note("full"))
    x = dovetail.ones(2, requires_grad=True)
    inner = x * 2
    (slope,) = dovetail.autograd.grad(layer(inner).sum(), x, create_graph=True)
    assert note.calls == ["full"]
    dovetail.autograd.grad(slope.sum(), x)
    assert note.calls == ["full"]

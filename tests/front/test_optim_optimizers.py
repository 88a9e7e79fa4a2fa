"""Optimizers: groups, errors, steps, hooks and state."""

import copy
import pickle

import pytest
from steps import held

import dovetail
from dovetail import nn, optim

EVERY = [
    lambda params: optim.SGD(params, lr=0.1),
    lambda params: optim.SGD(params, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    lambda params: optim.Adam(params, lr=0.1),
    lambda params: optim.Adam(params, lr=0.1, amsgrad=True),
    lambda params: optim.AdamW(params, lr=0.1),
    lambda params: optim.RMSprop(params, lr=0.1),
    lambda params: optim.RMSprop(params, lr=0.1, momentum=0.5, centered=True),
    lambda params: optim.Adagrad(params, lr=0.5),
]
NAMES = [
    "SGD",
    "SGD-momentum",
    "Adam",
    "Adam-amsgrad",
    "AdamW",
    "RMSprop",
    "RMSprop-centered",
    "Adagrad",
]
every_optimizer = pytest.mark.parametrize("make", EVERY, ids=NAMES)


def parameter(*values, gradient=None):
    result = nn.Parameter(dovetail.tensor(values))
    if gradient is not None:
        result.grad = dovetail.tensor(gradient)
    return result


# Groups


def test_groups_are_filled_with_defaults():
    a, b = parameter(1.0), parameter(2.0)
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], momentum=0.9)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 1e-3]
    assert [group["momentum"] for group in optimizer.param_groups] == [0.9, 0.9]
    assert optimizer.param_groups[1]["params"] == [b]
    assert optimizer.defaults["lr"] == 1e-3


def test_the_given_groups_become_those_of_the_optimizer():
    group = {"params": [parameter(1.0)]}
    optimizer = optim.SGD([group], lr=0.5)
    assert optimizer.param_groups[0] is group
    assert group["lr"] == 0.5


def test_a_group_that_is_refused_is_not_changed():
    p = parameter(1.0)
    optimizer = optim.SGD([p])
    group = {"params": p}
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optimizer.add_param_group(group)
    assert group == {"params": p}


def test_named_parameters_are_accepted():
    linear = nn.Linear(1, 1)
    optimizer = optim.SGD(linear.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][0] is linear.weight


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (lambda: [], ValueError, "optimizer got an empty parameter list"),
        (
            lambda: parameter(1.0),
            TypeError,
            "params argument given to the optimizer should be an iterable of Tensors",
        ),
        (lambda: [parameter(1.0) * 2], ValueError, "can't optimize a non-leaf Tensor"),
        (
            lambda: [3],
            TypeError,
            "optimizer can only optimize Tensors, but one of the params is int",
        ),
        (
            lambda: [{"params": {parameter(1.0)}}],
            TypeError,
            "ordering of tensors in sets will change between runs",
        ),
        (
            lambda: [("a", parameter(1.0)), parameter(2.0)],
            ValueError,
            "should be with/without names",
        ),
        (lambda: [{"lr": 1}], KeyError, "params"),
    ],
    ids=["empty", "tensor", "non-leaf", "int", "set in group", "half named", "no params"],
)
def test_wrong_parameters_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(params())


def test_a_parameter_may_not_be_in_two_groups():
    p = parameter(1.0)
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optim.SGD([{"params": [p]}, {"params": [p]}])


def test_a_repeated_parameter_in_one_group_warns():
    p = parameter(1.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p])


def test_a_refused_group_is_not_added():
    optimizer = optim.SGD([parameter(1.0)])
    with pytest.raises(TypeError, match="param_group must be a dict"):
        optimizer.add_param_group(3)
    with pytest.raises(ValueError, match="should be with/without names"):
        optimizer.add_param_group({"params": [("a", parameter(1.0))]})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: optim.SGD(p, lr=-1), "Invalid learning rate: -1"),
        (lambda p: optim.SGD(p, momentum=-1), "Invalid momentum value: -1"),
        (lambda p: optim.SGD(p, weight_decay=-1), "Invalid weight_decay value: -1"),
        (
            lambda p: optim.SGD(p, nesterov=True),
            "Nesterov momentum requires a momentum and zero dampening",
        ),
        (lambda p: optim.Adam(p, lr=-1), "Invalid learning rate: -1"),
        (lambda p: optim.Adam(p, betas=(1.0, 0.0)), "Invalid beta parameter at index 0: 1.0"),
        (lambda p: optim.Adam(p, eps=-1), "Invalid epsilon value: -1"),
        (lambda p: optim.RMSprop(p, alpha=-1), "Invalid alpha value: -1"),
        (lambda p: optim.Adagrad(p, lr_decay=-1), "Invalid lr_decay value: -1"),
    ],
)
def test_an_option_out_of_range_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make([parameter(1.0)])


def test_implementation_flags_are_accepted_alone():
    p = parameter(1.0, gradient=[1.0])
    optim.Adam([p], foreach=True).step()
    optim.SGD([p], fused=True).step()
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        optim.Adam([p], foreach=True, fused=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.Adam([p], differentiable=True, fused=True)


def test_repr_lists_the_groups():
    text = repr(optim.SGD([parameter(1.0)], lr=0.1))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    assert "    lr: 0.1\n" in text
    assert text.endswith("    weight_decay: 0\n)")
    groups = [{"params": [parameter(1.0)]}, {"params": [parameter(2.0)]}]
    assert "    weight_decay: 0\n\nParameter Group 1\n" in repr(optim.SGD(groups, lr=0.1))


# Steps


@every_optimizer
def test_steps_go_down_to_the_minimum(make):
    p = parameter(3.0, -2.0)
    optimizer = make([p])
    for _ in range(200):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        held(p, optimizer)
    assert p.abs().max().item() < 0.2


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad])
def test_maximize_goes_up(kind):
    p = parameter(1.0, gradient=[1.0])
    kind([p], lr=0.1, maximize=True, weight_decay=0).step()
    assert p.item() > 1.0


def test_sgd_subtracts_the_scaled_gradient():
    p = parameter(1.0, gradient=[2.0])
    optim.SGD([p], lr=0.25).step()
    assert p.tolist() == [0.5]


def test_the_first_momentum_buffer_is_the_gradient_without_dampening():
    p = parameter(1.0, gradient=[2.0])
    optimizer = optim.SGD([p], lr=1.0, momentum=0.5, dampening=0.5)
    optimizer.step()
    assert optimizer.state[p]["momentum_buffer"].tolist() == [2.0]
    optimizer.step()
    assert optimizer.state[p]["momentum_buffer"].tolist() == [2.0]
    assert p.tolist() == [-3.0]


def test_the_momentum_buffer_is_not_the_gradient_itself():
    p = parameter(1.0, gradient=[2.0])
    optim.SGD([p], lr=1.0, momentum=0.5).step()
    p.grad.zero_()
    assert p.tolist() == [-1.0]


@every_optimizer
def test_a_parameter_without_gradient_is_skipped(make):
    p, q = parameter(1.0, gradient=[1.0]), parameter(1.0)
    make([p, q]).step()
    assert q.tolist() == [1.0]
    assert p.tolist() != [1.0]


@every_optimizer
def test_a_step_keeps_the_parameter_a_leaf_and_its_gradient_unchanged(make):
    p = parameter(1.0, gradient=[2.0])
    version = p._version
    make([p]).step()
    assert p.is_leaf
    assert p.requires_grad
    assert p.grad.tolist() == [2.0]
    assert p._version > version


def test_an_update_bumps_the_version_once():
    p = parameter(1.0, gradient=[2.0])
    version = p._version
    optim.SGD([p]).step()
    optim.Adam([p]).step()
    assert p._version == version + 2


def test_backward_through_a_retained_graph_after_a_step_is_an_error():
    p = parameter(1.0)
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        loss.backward()


def test_a_closure_runs_with_gradients_and_its_value_is_returned():
    p = parameter(1.0)
    optimizer = optim.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with dovetail.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert p.tolist() == [0.0]


def test_a_tensor_learning_rate_is_read_at_each_step():
    p = parameter(1.0, gradient=[1.0])
    rate = dovetail.tensor(0.5)
    optimizer = optim.SGD([p], lr=rate)
    rate.fill_(0.25)
    optimizer.step()
    assert p.tolist() == [0.75]


def test_adam_steps_complex_parameters_by_parts():
    p = parameter(1 + 1j, gradient=[1 - 1j])
    optim.Adam([p], lr=0.5).step()
    assert p.item() == pytest.approx(0.5 + 1.5j)


def test_zero_grad_sets_to_none_or_to_zero():
    p = parameter(1.0, gradient=[1.0])
    optimizer = optim.SGD([p])
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_an_optimizer_without_step_says_so():
    with pytest.raises(NotImplementedError):
        optim.Optimizer([parameter(1.0)], {}).step()


# Hooks


def test_step_hooks_run_around_the_step():
    calls = []

    class Quiet(optim.Optimizer):
        def step(self, closure=None):
            calls.append("step")

    optimizer = Quiet([parameter(1.0)], {})
    optimizer.register_step_post_hook(lambda opt, args, kwargs: calls.append("after"))
    handle = optimizer.register_step_pre_hook(lambda opt, args, kwargs: calls.append("before"))
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert calls == ["before", "step", "after", "step", "after"]


def test_hooks_run_once_around_a_step_that_calls_its_base_class():
    class Louder(optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    calls = []
    optimizer = Louder([parameter(1.0)])
    optimizer.register_step_pre_hook(lambda *args: calls.append("before"))
    optimizer.register_step_post_hook(lambda *args: calls.append("after"))
    optimizer.step()
    optimizer.step()
    assert calls == ["before", "after"] * 2


def test_an_optimizer_around_another_one_need_not_call_its_base_class():
    class Around(optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer = optimizer
            self.param_groups = optimizer.param_groups
            self.defaults = optimizer.defaults
            self.state = optimizer.state

        def step(self, closure=None):
            return self.optimizer.step(closure)

    weight = parameter(1.0, gradient=[1.0])
    around = Around(optim.SGD([weight], lr=0.5))
    calls = []
    around.register_step_post_hook(lambda *_: calls.append("after"))
    scheduler = optim.lr_scheduler.StepLR(around, 1)
    around.step()
    scheduler.step()
    assert weight.tolist() == [0.5]
    assert calls == ["after"]
    assert around.state_dict()["param_groups"][0]["lr"] == pytest.approx(0.05)


def test_a_step_pre_hook_replaces_the_arguments():
    p = parameter(1.0, gradient=[1.0])
    optimizer = optim.SGD([p])
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((*args, lambda: 5), {}))
    assert optimizer.step() == 5


def test_a_step_pre_hook_must_return_both():
    optimizer = optim.SGD([parameter(1.0)])
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: 3)
    with pytest.raises(
        RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\)"
    ):
        optimizer.step()


def test_state_dict_hooks_run_in_order():
    optimizer, calls = optim.SGD([parameter(1.0)]), []
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("pre"))
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: calls.append(state.pop("more")))
    optimizer.register_load_state_dict_post_hook(lambda opt: calls.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert calls == ["pre", 1, "loaded"]


# State


def test_state_dict_replaces_parameters_by_indices():
    p, q = parameter(1.0), parameter(2.0, gradient=[1.0])
    optimizer = optim.Adam([{"params": [p]}, {"params": [q], "lr": 0.5}])
    optimizer.step()
    state = optimizer.state_dict()
    assert [group["params"] for group in state["param_groups"]] == [[0], [1]]
    assert list(state["state"]) == [1]
    assert list(state["state"][1]) == ["step", "exp_avg", "exp_avg_sq"]
    assert state["state"][1]["step"].item() == 1.0


@every_optimizer
def test_training_continues_from_a_loaded_state(make):
    p = parameter(1.0, 2.0)
    optimizer = make([p])

    def advance(q, opt):
        q.grad = q.detach() * 3
        opt.step()

    advance(p, optimizer)
    q = nn.Parameter(p.detach().clone())
    other = make([q])
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for _ in range(3):
        advance(p, optimizer)
        advance(q, other)
    assert q.tolist() == p.tolist()


def test_loading_copies_the_state_and_casts_it_to_the_parameter_but_not_step():
    p, q = parameter(1.0, gradient=[1.0]), nn.Parameter(dovetail.ones(1, dtype=dovetail.float64))
    optimizer, other = optim.Adam([p]), optim.Adam([q])
    optimizer.step()
    other.load_state_dict(optimizer.state_dict())
    assert other.state[q]["exp_avg"].dtype == dovetail.float64
    assert other.state[q]["step"].dtype == dovetail.float32
    optimizer.step()
    assert other.state[q]["step"].item() == 1.0


def test_loading_restores_options():
    optimizer = optim.SGD([parameter(1.0)], lr=0.1)
    optimizer.load_state_dict(optim.SGD([parameter(1.0)], lr=0.7).state_dict())
    assert optimizer.param_groups[0]["lr"] == 0.7


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "loaded state dict has a different number of parameter groups"),
        ([{"params": [0, 1]}], "doesn't match the size of optimizer's group"),
    ],
)
def test_a_state_dict_that_does_not_fit_is_refused(groups, message):
    optimizer = optim.SGD([parameter(1.0)])
    before = optimizer.param_groups
    with pytest.raises(ValueError, match=message):
        optimizer.load_state_dict({"state": {}, "param_groups": groups})
    assert optimizer.param_groups is before


def test_an_optimizer_survives_deepcopy_together_with_its_model():
    linear = nn.Linear(1, 1)
    linear(dovetail.ones(1, 1)).sum().backward()
    optimizer = optim.Adam(linear.parameters())
    optimizer.step()
    copied, copied_linear = copy.deepcopy((optimizer, linear))
    assert copied.param_groups[0]["params"][0] is copied_linear.weight
    copied.zero_grad()
    copied.step()


def test_an_optimizer_survives_pickling():
    p = parameter(1.0, gradient=[1.0])
    optimizer = optim.SGD([p], lr=0.5, momentum=0.9)
    optimizer.step()
    loaded = pickle.loads(pickle.dumps(optimizer))
    assert loaded.param_groups[0]["lr"] == 0.5
    assert [value["momentum_buffer"].tolist() for value in loaded.state.values()] == [[1.0]]
    loaded.step()


def test_hooks_for_every_optimizer_run_outside_the_own_ones():
    from dovetail.optim.optimizer import (
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )

    calls = []
    optimizer = optim.SGD([parameter(1.0)])
    optimizer.register_step_pre_hook(lambda *args: calls.append("own before"))
    optimizer.register_step_post_hook(lambda *args: calls.append("own after"))
    with (
        register_optimizer_step_pre_hook(lambda *args: calls.append("before")),
        register_optimizer_step_post_hook(lambda *args: calls.append("after")),
    ):
        optimizer.step()
    assert calls == ["before", "own before", "own after", "after"]


@pytest.mark.cpu_only(reason="memory of the cpu is shared")
def test_sums_of_adagrad_can_be_shared_before_and_after_steps():
    p = parameter(1.0, 2.0, gradient=[1.0, 2.0])
    optimizer = optim.Adagrad([p], lr=0.1)
    for steps in (1, 2):
        optimizer.share_memory()
        optimizer.step()
        assert optimizer.state[p]["sum"].is_shared()
        assert optimizer.state[p]["sum"].tolist() == [steps, 4.0 * steps]

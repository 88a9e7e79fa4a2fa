"""`jit.trace`: programs of recorded calls, made again with gradients, random numbers and writes."""

from __future__ import annotations

import copy
import gc
from typing import Any

import pytest

import dovetail
from dovetail import Tensor, nn
from dovetail.autograd import Function
from dovetail.jit import TracerWarning, TracingCheckError, trace, trace_module


def model() -> nn.Module:
    dovetail.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))


def test_a_traced_module_trains_as_the_module_does() -> None:
    def losses(net: nn.Module, called: Any) -> list[float]:
        optimizer = dovetail.optim.SGD(called.parameters(), lr=0.1)
        found = []
        for step in range(4):
            x = (dovetail.arange(12.0).reshape(4, 3) + step) / 10
            optimizer.zero_grad()
            loss = called(x).pow(2).sum()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return [*found, *net[1].running_mean.tolist(), net[1].num_batches_tracked.item()]

    plain, traced = model(), model()
    x = dovetail.ones(4, 3)
    plain(x)
    assert losses(plain, plain) == losses(traced, trace(traced, x))


def test_the_traced_module_has_the_parameters_of_the_module() -> None:
    net = model()
    traced = trace(net, dovetail.ones(4, 3))
    assert isinstance(traced, nn.Module)
    assert list(traced.state_dict()) == list(net.state_dict())
    assert all(a is b for a, b in zip(traced.parameters(), net.parameters(), strict=True))
    traced.eval()
    assert not any(each.training for each in net.modules())
    traced.double()
    assert traced(dovetail.ones(2, 3, dtype=dovetail.float64)).dtype is dovetail.float64


def test_another_signature_is_traced_anew() -> None:
    def flat(x: Tensor) -> Tensor:
        return x.reshape(x.shape[0] * x.shape[1]) * x.shape[1]

    traced = trace(flat, dovetail.ones(2, 3))
    for shape in ((4, 5), (2, 3), (1, 7)):
        x = dovetail.rand(*shape)
        assert traced(x).tolist() == flat(x).tolist()


def test_the_same_tensor_twice_is_another_signature() -> None:
    traced = trace(lambda x, y: x - y, (one := dovetail.ones(2), one))
    assert traced(dovetail.ones(2), dovetail.zeros(2)).tolist() == [1.0, 1.0]


def test_random_numbers_are_drawn_again() -> None:
    traced = trace(lambda x: x + dovetail.rand(2), dovetail.zeros(2), check_trace=False)
    dovetail.manual_seed(3)
    expected = dovetail.rand(2)
    dovetail.manual_seed(3)
    assert traced(dovetail.zeros(2)).tolist() == expected.tolist()
    assert traced(dovetail.zeros(2)).tolist() != expected.tolist()


def test_grad_modes_inside_are_those_of_the_run() -> None:
    def function(x: Tensor) -> Tensor:
        with dovetail.no_grad():
            scale = x * 3
        return x * scale

    traced = trace(function, dovetail.ones(2))
    x = dovetail.ones(2, requires_grad=True)
    traced(x)
    traced(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]


class Doubled(Function):
    """Its gradient is not that of what it computes, so that one sees which is taken."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 100


def test_a_function_of_the_user_keeps_its_own_gradient() -> None:
    traced = trace(lambda x: Doubled.apply(x) + 1, dovetail.ones(2, requires_grad=True))
    x = dovetail.ones(2, requires_grad=True)
    traced(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [100.0, 100.0]
    assert "Doubled.apply(input_0)" in traced.code


def test_gradients_of_gradients_flow_through_a_run() -> None:
    traced = trace(lambda x: (x**3).sum(), dovetail.ones(2, requires_grad=True))
    x = dovetail.tensor([2.0, 3.0], requires_grad=True)
    (first,) = dovetail.autograd.grad(traced(x), x, create_graph=True)
    (second,) = dovetail.autograd.grad(first.sum(), x)
    assert second.tolist() == [12.0, 18.0]


class Counting(nn.Module):
    """Puts tensors into itself by assignment."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", dovetail.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.count = self.count + 1
        return x * self.count


def test_what_a_module_puts_into_itself_is_put_there_in_each_run() -> None:
    traced = trace(Counting(), dovetail.ones(1), check_trace=False)
    assert [traced(dovetail.ones(1)).item() for _ in range(3)] == [2.0, 3.0, 4.0]
    assert traced.count.item() == 4.0


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x if x.sum() > 0 else -x, "Python boolean"),
        (lambda x: x * x.sum().item(), "Python number"),
        (lambda x: x * float(x.sum()), "Python float"),
        (lambda x: x * int(x.sum()), "Python integer"),
        (lambda x: x + dovetail.tensor(x.tolist()), "Python list"),
        pytest.param(
            lambda x: x + dovetail.tensor(x.numpy()),
            "NumPy array",
            marks=pytest.mark.cpu_only(reason="NumPy's arrays are in the memory of the host"),
        ),
        (lambda x: x if dovetail.equal(x, x) else -x, "Python value"),
    ],
)
def test_a_value_that_becomes_a_constant_is_warned_of_where_it_does(
    function: Any, kind: str
) -> None:
    with pytest.warns(TracerWarning, match=f"Converting a tensor to a {kind} might") as caught:
        trace(function, dovetail.ones(2))
    assert caught[0].filename == __file__


def test_a_tensor_as_a_slice_is_no_constant() -> None:
    traced = trace(lambda x, n: x[n:].sum(), (dovetail.ones(4), dovetail.tensor(1)))
    assert traced(dovetail.ones(4), dovetail.tensor(3)).item() == 1.0


def test_tensors_that_no_operator_made_are_refused() -> None:
    def function(x: Tensor) -> Tensor:
        return dovetail.vmap(lambda row: row * 2)(x) + 1

    with pytest.raises(RuntimeError, match="made during the trace by something that is not an op"):
        trace(function, dovetail.ones(2, 2))


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: x.sum().backward(), NotImplementedError, "call backward on what the traced"),
        (lambda x: x.grad, NotImplementedError, "is not recorded"),
        (lambda x: 3, RuntimeError, "Only tensors, lists, tuples of tensors"),
        (lambda x: x * WEIGHT, RuntimeError, "Cannot insert a Tensor that requires grad"),
    ],
)
def test_what_cannot_be_made_again_is_refused(function: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        trace(function, dovetail.ones(2, requires_grad=True))
    assert not dovetail.jit.is_tracing()


WEIGHT = dovetail.ones(2, requires_grad=True)


def test_frozen_tensors_are_constants() -> None:
    constant = dovetail.tensor([1.0, 2.0])
    gc.collect()
    gc.freeze()
    try:
        traced = trace(lambda x: x * constant, dovetail.ones(2))
    finally:
        gc.unfreeze()
    assert traced(dovetail.ones(2)).tolist() == [1.0, 2.0]


def test_arguments_that_are_no_tensors_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Type 'int' cannot be traced"):
        trace(lambda x, n: x * n, (dovetail.ones(2), 3))


def test_calls_that_differ_from_run_to_run_are_found() -> None:
    calls: list[int] = []

    def function(x: Tensor) -> Tensor:
        calls.append(1)
        return x * len(calls)

    with pytest.raises(TracingCheckError, match=r"Graphs differed.*\n.*mul\(input_0, 1\) and"):
        trace(function, dovetail.ones(2))


def test_tracing_is_told_only_meanwhile() -> None:
    seen = []

    def function(x: Tensor) -> Tensor:
        seen.append(dovetail.jit.is_tracing())
        return x + 1

    traced = trace(function, dovetail.ones(2), check_trace=False)
    traced(dovetail.ones(2))
    assert seen == [True]
    assert not dovetail.jit.is_tracing()


def test_the_program_is_shown() -> None:
    traced = trace(lambda x: (x * 2).relu(), dovetail.ones(2))
    assert traced.graph == (
        "graph(%input_0):\n  %value_1 = dovetail.mul(%input_0, 2)\n"
        "  %value_2 = dovetail.relu(%value_1)\n  return %value_2\n"
    )
    assert "    return value_2\n" in traced.code


def test_several_methods_are_traced() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

        def halved(self, x: Tensor) -> Tensor:
            return x / 2

    traced = trace_module(Scaled(), {"forward": dovetail.ones(1), "halved": dovetail.ones(1)})
    assert traced(dovetail.ones(1)).item() == 2.0
    assert traced.halved(dovetail.ones(1)).item() == 0.5


def test_transforms_and_copies_of_traced_ones() -> None:
    traced = trace(lambda x: (x * x).sum(), dovetail.ones(2))
    x = dovetail.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert dovetail.vmap(traced)(x).tolist() == [5.0, 25.0]
    assert dovetail.vmap(dovetail.func.grad(traced))(x).tolist() == (2 * x).tolist()
    net = trace(model(), dovetail.ones(4, 3)).eval()
    other = copy.deepcopy(net)
    assert other(x[:, :1].expand(2, 3)).tolist() == net(x[:, :1].expand(2, 3)).tolist()


def test_autocast_within_a_traced_function_is_that_of_the_recording() -> None:
    def function(x: Any) -> Any:
        with dovetail.autocast("cpu", dtype=dovetail.float16):
            return x @ x

    x = dovetail.ones(2, 2, device="cpu")
    traced = dovetail.jit.trace(function, x)
    assert traced(x).dtype is dovetail.float16
    with dovetail.autocast("cpu", dtype=dovetail.bfloat16):
        assert traced(x).dtype is dovetail.float16
    assert dovetail.get_autocast_dtype("cpu") is dovetail.bfloat16


def test_a_module_whose_parameters_changed_is_recorded_again() -> None:
    class Scaled(dovetail.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = dovetail.nn.Parameter(dovetail.ones(2))

        def forward(self, x: Any) -> Any:
            return x * self.weight if self.weight.requires_grad else x

    module = Scaled()
    x = dovetail.full((2,), 3.0)
    traced = dovetail.jit.trace(module, x)
    with dovetail.no_grad():
        module.weight.fill_(2.0)
    assert traced(x).tolist() == [6.0, 6.0]
    module.requires_grad_(False)
    assert traced(x).tolist() == [3.0, 3.0]


def test_traces_are_of_the_classes_of_pytorchs() -> None:
    module = dovetail.jit.trace(dovetail.nn.Linear(2, 1), dovetail.ones(2))
    function = dovetail.jit.trace(dovetail.sin, dovetail.ones(2))
    assert isinstance(module, dovetail.jit.ScriptModule)
    assert isinstance(function, dovetail.jit.ScriptFunction)

"""What the package functorch was before it became ``torch.func``."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dovetail
from dovetail import functorch, nn

pytestmark = pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning")


def test_a_module_is_a_function_of_copies_of_its_parameters() -> None:
    model = nn.Linear(2, 3)
    function, parameters = functorch.make_functional(model)
    x = dovetail.ones(4, 2)
    assert function(parameters, x).equal(model(x))
    assert not any(one is other for one in parameters for other in model.parameters())
    assert all(each.requires_grad for each in parameters)
    doubled = function([2 * each for each in parameters], x)
    dovetail.testing.assert_close(doubled, 2 * model(x))
    grads = functorch.grad(lambda p: function(p, x).sum())(parameters)
    assert [each.shape for each in grads] == [(3, 2), (3,)]
    assert grads[1].tolist() == [4, 4, 4]


def test_parameters_may_come_without_requiring_grad() -> None:
    _, parameters = functorch.make_functional(nn.Linear(1, 1), disable_autograd_tracking=True)
    assert not any(each.requires_grad for each in parameters)


def test_buffers_that_the_module_writes_are_written() -> None:
    model = nn.BatchNorm1d(2)
    function, parameters, buffers = functorch.make_functional_with_buffers(model)
    assert (function.param_names, function.buffer_names) == (
        ("weight", "bias"),
        ("running_mean", "running_var", "num_batches_tracked"),
    )
    function(parameters, buffers, dovetail.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert buffers[2].item() == 1
    assert buffers[0].tolist() == pytest.approx([0.2, 0.3])
    assert model.running_mean.tolist() == [0, 0]


def test_a_module_with_one_parameter_twice_takes_it_once() -> None:
    layer = nn.Linear(2, 2)
    model = nn.Sequential(layer, nn.ReLU(), layer)
    function, parameters = functorch.make_functional(model)
    assert function.param_names == ("0.weight", "0.bias")
    x = dovetail.ones(1, 2)
    assert function(parameters, x).equal(model(x))


def test_an_ensemble_is_one_function_of_stacked_parameters() -> None:
    models = [nn.Linear(2, 3) for _ in range(4)]
    function, parameters, buffers = functorch.combine_state_for_ensemble(models)
    assert buffers == ()
    assert not any(each.requires_grad for each in parameters)
    x = dovetail.ones(5, 2)
    found = functorch.vmap(function, (0, 0, None))(parameters, buffers, x)
    dovetail.testing.assert_close(found, dovetail.stack([each(x) for each in models]))


def test_bad_models_and_numbers_of_tensors_are_refused() -> None:
    linear, norm = nn.Linear(2, 2), nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError, match="Please use make_functional_with_buffers"):
        functorch.make_functional(norm)
    for models, text in (
        ([], "at least one model, got 0"),
        ([linear, norm], "of the same class"),
        ([linear, nn.Linear(2, 2).eval()], "the same training/eval mode"),
    ):
        with pytest.raises(RuntimeError, match=text):
            functorch.combine_state_for_ensemble(models)
    function, parameters = functorch.make_functional(linear)
    with pytest.raises(RuntimeError, match=r"Expected 2 parameters, got 1\. Pass what"):
        function(parameters[:1], dovetail.ones(1, 2))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", functorch.__all__)
def test_calls_warn_that_another_function_took_the_place(name: str) -> None:
    if name.startswith("Functional"):
        pytest.skip("a class of what is returned")
    successors = {
        "vmap": "torch.vmap",
        "make_functional": "torch.func.functional_call",
        "make_functional_with_buffers": "torch.func.functional_call",
        "combine_state_for_ensemble": "torch.func.stack_module_state",
    }
    x = dovetail.ones(2)
    argument = {
        "make_functional": (nn.Linear(1, 1),),
        "make_functional_with_buffers": (nn.Linear(1, 1),),
        "combine_state_for_ensemble": ([nn.Linear(1, 1)],),
        "vjp": (dovetail.sin, x),
        "jvp": (dovetail.sin, (x,), (x,)),
    }
    successor = successors.get(name, f"torch.func.{name}")
    text = f"`functorch.{name}` is deprecated .* Please use `{successor}` instead"
    with pytest.warns(FutureWarning, match=text) as warned:
        getattr(functorch, name)(*argument.get(name, (dovetail.sin,)))
    assert warned[0].filename == __file__


def test_functorch_is_imported_where_dovetail_stands_in_for_torch() -> None:
    program = """
import dovetail
with dovetail.as_torch():
    import functorch
    from functorch import make_functional
    print(functorch is dovetail.functorch, make_functional.__module__)
    try:
        import functorch.dim
    except ModuleNotFoundError as error:
        print(error)
"""
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = ran.stdout.splitlines()
    assert first == "True dovetail.functorch"
    assert "functorch.dim" in second

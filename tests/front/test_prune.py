"""``nn.utils.prune``: weights set to zero for good."""

import subprocess
import sys

import pytest

import dovetail
from dovetail import nn
from dovetail.nn.utils import prune


def linear():
    made = nn.Linear(3, 2, bias=False)
    with dovetail.no_grad():
        made.weight.copy_(dovetail.tensor([[1.0, -2.0, 0.1], [0.5, 4.0, -0.2]]))
    return made


def test_the_least_weights_are_zero_and_stay_so_in_training():
    model = prune.l1_unstructured(linear(), "weight", 2)
    assert (model.weight == 0).tolist() == [[False, False, True], [False, False, True]]
    optimizer = dovetail.optim.SGD(model.parameters(), lr=0.1)
    model(dovetail.ones(1, 3)).sum().backward()
    optimizer.step()
    model(dovetail.ones(1, 3))
    assert (model.weight[:, 2] == 0).all()
    assert (model.weight[:, :2] != 0).all()


def test_methods_are_applied_one_after_the_other():
    model = prune.ln_structured(linear(), "weight", 1, n=2, dim=1)
    prune.l1_unstructured(model, "weight", 1)
    assert model.weight_mask.tolist() == [[1, 1, 0], [0, 1, 0]]


def test_a_method_that_fails_changes_nothing():
    model = prune.l1_unstructured(linear(), "weight", 2)
    mask, hooks = model.weight_mask, list(model._forward_pre_hooks.values())
    with pytest.raises(ValueError, match="amount=9 should be smaller than the number"):
        prune.l1_unstructured(model, "weight", 9)
    assert model.weight_mask is mask
    assert list(model._forward_pre_hooks.values()) == hooks
    assert not isinstance(hooks[0], prune.PruningContainer)


def test_removing_makes_pruning_final():
    model = prune.random_unstructured(linear(), "weight", 0.5)
    pruned = model.weight.tolist()
    prune.remove(model, "weight")
    assert model.weight.tolist() == pruned
    assert isinstance(model.weight, nn.Parameter)
    assert not prune.is_pruned(model)
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(model, "weight")


def test_a_generator_of_parameters_is_pruned_globally():
    models = [linear(), linear()]
    pairs = ((model, "weight") for model in models)
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=4)
    assert [int(model.weight_mask.sum()) for model in models] == [4, 4]


def test_a_container_takes_methods_for_one_tensor_only():
    methods = prune.L1Unstructured(1), prune.RandomUnstructured(1)
    methods[0]._tensor_name, methods[1]._tensor_name = "weight", "bias"
    with pytest.raises(ValueError, match="acting on the parameter named 'weight'"):
        prune.PruningContainer(*methods)


def test_utilities_that_most_programs_do_not_use_load_when_first_asked_for():
    program = "import sys, dovetail.nn as n; assert 'dovetail.nn.utils.prune' not in sys.modules"
    subprocess.run([sys.executable, "-c", f"{program}; n.utils.prune.remove"], check=True)

"""Checks of ZeroRedundancyOptimizer against the optimizer that it divides."""

import pickle

import pytest

import dovetail
import dovetail.distributed as dist
from dovetail import nn
from dovetail.distributed.optim import ZeroRedundancyOptimizer
from dovetail.optim import SGD, Adam, lr_scheduler


def make():
    dovetail.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 5), nn.Linear(5, 3))


def step(model, optimizer, number):
    dovetail.manual_seed(number)
    optimizer.zero_grad()
    model(dovetail.randn(4, 8)).square().sum().backward()
    optimizer.step()


def are_same(one, two):
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert a.equal(b)


def trained(rank, size, optimizer_class=Adam, view=False, **options):
    """Train two models alike, one with a divided optimizer."""
    model, lead = make(), make()
    divided = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class, parameters_as_bucket_view=view, **options
    )
    whole = optimizer_class(lead.parameters(), **options)
    for number in range(3):
        step(model, divided, number)
        step(lead, whole, number)
        are_same(model, lead)
    return model, divided, lead, whole


def check_steps_are_those_of_the_whole_optimizer(rank, size):
    for view in (False, True):
        trained(rank, size, Adam, view, lr=0.01)
        trained(rank, size, SGD, view, lr=0.01, momentum=0.9)


def check_a_rank_has_a_part_of_the_state(rank, size):
    model, divided, _, whole = trained(rank, size)
    counts = [None] * size
    dist.all_gather_object(counts, sum(each.numel() for each in divided.state))
    assert sum(counts) == sum(each.numel() for each in model.parameters())
    assert len(divided.state) < len(whole.state)
    assert max(counts) - min(counts) < 128  # of 247, of which the largest parameter has 128


def check_the_consolidated_state_is_that_of_the_whole(rank, size):
    _model, divided, lead, whole = trained(rank, size)
    with pytest.raises(RuntimeError, match=r"not been consolidated on this rank\. Please call"):
        divided.state_dict()
    divided.consolidate_state_dict(to=size - 1)
    saved = [divided.state_dict() if rank == size - 1 else None]
    wanted = whole.state_dict()
    dist.broadcast_object_list(saved, src=size - 1)
    assert saved[0]["param_groups"] == wanted["param_groups"]
    dovetail.testing.assert_close(saved[0]["state"], wanted["state"], rtol=0, atol=0)

    other = make()
    other.load_state_dict(lead.state_dict())
    goes_on = ZeroRedundancyOptimizer(other.parameters(), Adam)
    goes_on.load_state_dict(saved[0])
    assert set(goes_on.state) < set(other.parameters())
    step(other, goes_on, 7)
    step(lead, whole, 7)
    are_same(other, lead)


def check_schedulers_and_options_of_groups_reach_the_parts(rank, size):
    model, lead = make(), make()
    divided = ZeroRedundancyOptimizer(model[:2].parameters(), SGD, lr=0.1)
    whole = SGD(lead[:2].parameters(), lr=0.1)
    schedules = [lr_scheduler.StepLR(each, 1, 0.5) for each in (divided, whole)]
    for number in range(4):
        if number == 2:
            divided.add_param_group({"params": list(model[2:].parameters()), "lr": 0.03})
            whole.add_param_group({"params": list(lead[2:].parameters()), "lr": 0.03})
        step(model, divided, number)
        step(lead, whole, number)
        are_same(model, lead)
        if number < 2:
            for each in schedules:
                each.step()
    assert [group["lr"] for group in divided.param_groups] == [0.025, 0.03]


def check_adding_a_group_keeps_the_state(rank, size):
    model, divided, lead, whole = trained(rank, size)
    for network, optimizer in ((model, divided), (lead, whole)):
        dovetail.manual_seed(1)
        network.append(nn.Linear(3, 60))  # larger than what there was
        optimizer.add_param_group({"params": list(network[-1].parameters()), "lr": 0.03})
    for number in range(3):
        step(model, divided, number)
        step(lead, whole, number)
        are_same(model, lead)


def check_a_group_that_is_refused_leaves_no_trace(rank, size):
    model, divided, lead, whole = trained(rank, size)
    with pytest.raises(TypeError, match="one floating dtype"):
        divided.add_param_group({"params": [nn.Parameter(dovetail.ones(2).double())]})
    assert len(divided.param_groups) == 1
    step(model, divided, 7)
    step(lead, whole, 7)
    are_same(model, lead)


def check_bad_arguments_are_refused(rank, size):
    parameters = list(make().parameters())
    with pytest.raises(NotImplementedError, match="overlap_with_ddp=True is not supported"):
        ZeroRedundancyOptimizer(parameters, Adam, overlap_with_ddp=True)
    with pytest.raises(TypeError, match="should be a class of optimizers, not 'Adam'"):
        ZeroRedundancyOptimizer(parameters, "Adam")
    with pytest.raises(TypeError, match=r"one floating dtype, but got .*Make one optimizer"):
        ZeroRedundancyOptimizer([*parameters, nn.Parameter(dovetail.ones(2).double())], Adam)
    with pytest.raises(TypeError, match="cannot be pickled: a rank has a part"):
        pickle.dumps(ZeroRedundancyOptimizer(parameters, Adam))

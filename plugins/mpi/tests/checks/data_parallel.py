"""Checks of DistributedDataParallel against one process that sees the batches of all ranks."""

import copy

import pytest
from dovetail.distributed.algorithms.ddp_comm_hooks import default_hooks

import dovetail
import dovetail.distributed as dist
import dovetail.nn.functional as F
from dovetail import nn
from dovetail.nn.parallel import DistributedDataParallel

BATCH = 6


def make(seed=0):
    dovetail.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)
    )


def data(size, step=0):
    dovetail.manual_seed(100 + step)
    return dovetail.randn(size * BATCH, 8), dovetail.randint(0, 3, (size * BATCH,))


def mine(tensor, rank):
    return tensor[rank * BATCH : (rank + 1) * BATCH]


def loss_of(model, x, y):
    return F.cross_entropy(model(x), y)


def is_close(model, other, attribute=None):
    pairs = list(zip(model.parameters(), other.parameters(), strict=True))
    for one, two in pairs:
        if attribute is not None:
            one, two = getattr(one, attribute), getattr(two, attribute)
        dovetail.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


def trained(model, rank, size, steps=4, momentum=0.9, lead=None):
    """Train on the batches of this rank, beside `lead` on those of all."""
    optimizer = dovetail.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
    alone = lead and dovetail.optim.SGD(lead.parameters(), lr=0.1, momentum=momentum)
    for step in range(steps):
        x, y = data(size, step)
        optimizer.zero_grad()
        loss_of(model, mine(x, rank), mine(y, rank)).backward()
        optimizer.step()
        if lead:
            alone.zero_grad()
            loss_of(lead, x, y).backward()
            alone.step()


def check_training_equals_one_process(rank, size):
    for options in (
        {},
        {"bucket_cap_mb": 1e-4},
        {"gradient_as_bucket_view": True},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 5e-4},
        {"static_graph": True, "bucket_cap_mb": 5e-4},
        {"find_unused_parameters": True, "bucket_cap_mb": 5e-4},
    ):
        lead = make()
        model = DistributedDataParallel(make(rank + 5 if rank else 0), **options)
        trained(model, rank, size, lead=lead)
        is_close(model.module, lead)


def check_all_ranks_hold_the_same_bits(rank, size):
    model = DistributedDataParallel(make(), bucket_cap_mb=5e-4)
    trained(model, rank, size)
    every = [None] * size
    dist.all_gather_object(every, [p.tolist() for p in model.parameters()])
    assert all(each == every[0] for each in every)


def check_buckets_are_filled_from_the_last_parameter(rank, size):
    model = DistributedDataParallel(make(), bucket_cap_mb=1e-4)
    indices = [bucket.indices for bucket in model.reducer.buckets]
    assert [index for bucket in indices for index in bucket] == [5, 4, 3, 2, 1, 0]
    assert len(indices) > 2
    assert next(iter(model.state_dict())) == "module.0.weight"
    kept = DistributedDataParallel(make(), gradient_as_bucket_view=True)
    x, y = data(size)
    for _ in range(2):
        loss_of(kept, mine(x, rank), mine(y, rank)).backward()
        grad = kept.module[0].weight.grad
        flat = kept.reducer.buckets[-1].flat
        assert flat.data_ptr() <= grad.data_ptr() < flat.data_ptr() + 4 * flat.numel()
        kept.zero_grad(set_to_none=False)
        assert not flat.any()


def check_buckets_travel_while_the_backward_goes_on(rank, size):
    model = DistributedDataParallel(make(), bucket_cap_mb=1e-5)
    begun = []
    model.module[0].weight.register_post_accumulate_grad_hook(
        lambda p: begun.append(sum(bucket.work is not None for bucket in model.reducer.buckets))
    )
    x, y = data(size)
    loss_of(model, mine(x, rank), mine(y, rank)).backward()
    assert begun[0] >= len(model.reducer.buckets) - 1 > 2


def check_no_sync_adds_up_gradients(rank, size):
    for options in ({}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}):
        lead, model = make(), DistributedDataParallel(make(), **options)
        for _ in range(2):
            model.zero_grad()
            lead.zero_grad()
            with model.no_sync():
                for step in range(2):
                    x, y = data(size, step)
                    loss_of(model, mine(x, rank), mine(y, rank)).backward()
                    loss_of(lead, x, y).backward()
            x, y = data(size, 2)
            loss_of(model, mine(x, rank), mine(y, rank)).backward()
            loss_of(lead, x, y).backward()
            is_close(model.module, lead, "grad")


class Branches(nn.Module):
    """Uses one of two layers, and never the third."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x, which):
        return {"out": [self.layers[which](x)]}


def check_unused_parameters_are_found(rank, size):
    dovetail.manual_seed(0)
    model = DistributedDataParallel(Branches(), find_unused_parameters=True, bucket_cap_mb=1e-5)
    for _ in range(2):
        model.zero_grad()
        model(dovetail.ones(2, 4), int(rank == 0))["out"][0].sum().backward()
        first, second, third = [layer.weight.grad for layer in model.module.layers]
        assert third is None
        assert second[0, 0].item() == pytest.approx(2 / size)
        assert first is None if size == 1 else first[0, 0].item() == pytest.approx(2 - 2 / size)


def check_unused_parameters_are_named_where_they_are_not_looked_for(rank, size):
    model = DistributedDataParallel(Branches(), bucket_cap_mb=1e-5)
    model(dovetail.ones(2, 4), 0)["out"][0].sum().backward()
    with pytest.raises(RuntimeError, match=r"parameters that were not used .* layers.2.weight"):
        model(dovetail.ones(2, 4), 0)


class Heads(nn.Module):
    """Returns what two layers make of a third: a loss may be of one alone."""

    def __init__(self):
        super().__init__()
        self.trunk, self.heads = nn.Linear(8, 4), nn.ModuleList([nn.Linear(4, 3) for _ in "ab"])

    def forward(self, x):
        x = self.trunk(x)
        return [head(x) for head in self.heads]


def check_what_is_no_part_of_the_loss_leaves_its_parameters_out(rank, size):
    x, y = data(size)
    for which in ([0] * size, [1] * size, [each % 2 for each in range(size)]):
        dovetail.manual_seed(0)
        lead = Heads()
        model = DistributedDataParallel(
            copy.deepcopy(lead), find_unused_parameters=True, bucket_cap_mb=1e-5
        )
        for _ in range(2):
            model.zero_grad()
            F.cross_entropy(model(mine(x, rank))[which[rank]], mine(y, rank)).backward()
        for each, head in enumerate(which):
            (F.cross_entropy(lead(mine(x, each))[head], mine(y, each)) / size).backward()
        for one, two in zip(model.module.parameters(), lead.parameters(), strict=True):
            assert (one.grad is None) == (two.grad is None)
            if two.grad is not None:
                dovetail.testing.assert_close(one.grad, two.grad, rtol=1e-5, atol=1e-6)


def check_a_static_graph_leaves_unused_parameters_alone(rank, size):
    model = DistributedDataParallel(Branches(), static_graph=True, bucket_cap_mb=1e-5)
    for _ in range(3):
        model(dovetail.ones(2, 4), 1)["out"][0].sum().backward()
    grads = [layer.weight.grad for layer in model.module.layers]
    assert grads[0] is None and grads[2] is None and grads[1][0, 0].item() == 6


def check_two_forwards_may_come_before_a_backward(rank, size):
    lead, model = make(), DistributedDataParallel(make())
    x, y = data(size)
    (loss_of(model, mine(x, rank), mine(y, rank)) + model(mine(x, rank)).square().mean()).backward()
    (loss_of(lead, x, y) + lead(x).square().mean()).backward()
    is_close(model.module, lead, "grad")


def check_a_second_backward_averages_nothing(rank, size):
    model = DistributedDataParallel(nn.Linear(2, 2))
    loss = model(dovetail.ones(1, 2) * rank).sum()
    loss.backward(retain_graph=True)
    before = model.module.weight.grad.clone()
    loss.backward()
    assert (model.module.weight.grad - before).tolist() == [[rank, rank]] * 2


def check_buffers_are_those_of_rank_0(rank, size):
    def norm():
        dovetail.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    model = DistributedDataParallel(norm())
    for step in range(2):
        model(dovetail.randn(5, 4) + rank + step)
    lead = copy.deepcopy(model.module)
    model.eval()(dovetail.ones(1, 4))
    every = [None] * size
    dist.all_gather_object(every, model.module[1].running_mean.tolist())
    assert all(each == every[0] for each in every)
    assert rank != 0 or every[0] == lead[1].running_mean.tolist()
    model = DistributedDataParallel(norm(), broadcast_buffers=False)
    model(dovetail.ones(2, 4) * (rank + 1))
    mean = model.module[1].running_mean.tolist()
    dist.all_gather_object(every, mean)
    assert every.count(mean) == 1
    module = norm()
    module[1].running_mean.fill_(rank)
    DistributedDataParallel(module, broadcast_buffers=False)
    assert module[1].running_mean.tolist() == [rank] * 4


def check_parameters_and_buffers_may_be_left_to_each_rank(rank, size):
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2, bias=False))
    with dovetail.no_grad():
        module[2].weight.fill_(rank)
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(
        module, ["1.running_mean", "2.weight"]
    )
    model = DistributedDataParallel(module)
    model(dovetail.ones(2, 4) * rank + dovetail.arange(2.0)[:, None]).sum().backward()
    every = [None] * size
    for own in (module[2].weight, module[1].running_mean):
        dist.all_gather_object(every, own.tolist())
        assert every.count(own.tolist()) == 1
    dist.all_gather_object(every, module[0].weight.grad.tolist())
    assert all(each == every[0] for each in every)


def check_halves_are_averaged_as_float32(rank, size):
    model = DistributedDataParallel(nn.Linear(2, 1, bias=False, dtype=dovetail.bfloat16))
    model(dovetail.full((1, 2), rank + 1.0, dtype=dovetail.bfloat16)).sum().backward()
    assert model.module.weight.grad.dtype is dovetail.bfloat16
    assert model.module.weight.grad[0, 0].item() == pytest.approx((size + 1) / 2, rel=1e-2)


def check_join_trains_on_uneven_inputs(rank, size):
    for divide_by_all in (True, False):
        lead, model = make(), DistributedDataParallel(make(), bucket_cap_mb=5e-4)
        optimizer = dovetail.optim.SGD(model.parameters(), lr=0.1)
        with model.join(divide_by_initial_world_size=divide_by_all):
            for step in range(rank + 2):  # rank 0 has the fewest batches
                optimizer.zero_grad()
                x, y = data(size, step)
                loss_of(model, mine(x, rank), mine(y, rank)).backward()
                optimizer.step()
        optimizer = dovetail.optim.SGD(lead.parameters(), lr=0.1)
        for step in range(size + 1):
            x, y = data(size, step)
            having = [r for r in range(size) if step < r + 2]
            losses = [loss_of(lead, mine(x, r), mine(y, r)) for r in having]
            optimizer.zero_grad()
            (sum(losses) / (size if divide_by_all else len(having))).backward()
            optimizer.step()
        is_close(model.module, lead)


def check_join_copies_buffers_of_a_rank_that_has_batches(rank, size):
    dovetail.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    with model.join():
        for step in range(rank + 1):
            model(dovetail.randn(5, 4) + step).sum().backward()
    assert model.module[1].num_batches_tracked.item() == size
    every = [None] * size
    dist.all_gather_object(every, model.module[1].running_mean.tolist())
    assert all(each == every[0] for each in every)


def check_join_raises_on_all_ranks_when_asked_to(rank, size):
    if size == 1:
        return
    model = DistributedDataParallel(make())
    with (
        pytest.raises(RuntimeError, match="Detected at least one rank that exhausted inputs"),
        model.join(throw_on_early_termination=True),
    ):
        for step in range(rank + 1):
            x, y = data(size, step)
            loss_of(model, mine(x, rank), mine(y, rank)).backward()
    with model.join(enable=False):
        loss_of(model, mine(x, rank), mine(y, rank)).backward()


def check_hooks_average_instead(rank, size):
    for hook, tolerance in (
        (default_hooks.allreduce_hook, 1e-6),
        (default_hooks.fp16_compress_hook, 2e-3),
        (default_hooks.bf16_compress_hook, 2e-2),
        (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 2e-3),
    ):
        lead, model = make(), DistributedDataParallel(make(), bucket_cap_mb=5e-4)
        model.register_comm_hook(None, hook)
        x, y = data(size)
        for _ in range(2):
            model.zero_grad()
            loss_of(model, mine(x, rank), mine(y, rank)).backward()
        loss_of(lead, x, y).backward()
        for one, two in zip(model.parameters(), lead.parameters(), strict=True):
            dovetail.testing.assert_close(one.grad, two.grad, rtol=tolerance, atol=tolerance)
        with pytest.raises(RuntimeError, match="can only be called once"):
            model.register_comm_hook(None, hook)
    seen = []
    model = DistributedDataParallel(make(), bucket_cap_mb=5e-4)

    def hook(state, bucket):
        seen.append((bucket.index(), bucket.is_last(), len(bucket.parameters())))
        assert bucket.gradients()[0].shape == bucket.parameters()[0].shape
        future = dist.Future()
        future.set_result(bucket.buffer() * 0 + state)
        return future

    model.register_comm_hook(7.0, hook)
    loss_of(model, mine(x, rank), mine(y, rank)).backward()
    assert [index for index, _, _ in seen] == list(range(len(seen)))
    assert [is_last for _, is_last, _ in seen] == [False] * (len(seen) - 1) + [True]
    assert all((p.grad == 7).all() for p in model.parameters())


def check_different_modules_are_refused_on_all_ranks(rank, size):
    if size > 1:
        with pytest.raises(RuntimeError, match="rank 0 has weight with shape"):
            DistributedDataParallel(nn.Linear(2 + (rank == 1), 2))
        with pytest.raises(RuntimeError, match="Rank 0 has 2 params, while rank 1 has inconsist"):
            DistributedDataParallel(nn.Linear(2, 2, bias=rank != 1))
    still = nn.Linear(2, 2).requires_grad_(False)
    with pytest.raises(RuntimeError, match="not needed when a module doesn't have any parameters"):
        DistributedDataParallel(still)


def check_groups_train_apart(rank, size):
    alone, _ = dist.new_subgroups(1)
    model = DistributedDataParallel(nn.Linear(2, 1, bias=False), process_group=alone)
    model(dovetail.full((1, 2), float(rank))).sum().backward()
    assert model.module.weight.grad.tolist() == [[rank, rank]]


def check_a_step_sends_each_gradient_once(rank, size):
    model = DistributedDataParallel(make(), bucket_cap_mb=5e-4)
    statistics = model.process_group.statistics
    x, y = data(size)
    before = dict(statistics)
    loss_of(model, mine(x, rank), mine(y, rank)).backward()
    bytes_of_gradients = sum(p.numel() * 4 for p in model.parameters())
    assert statistics["bytes"] - before["bytes"] == bytes_of_gradients
    assert statistics["collectives"] - before["collectives"] == len(model.reducer.buckets)

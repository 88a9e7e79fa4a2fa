"""Checks of `Join`: models and divided optimizers on ranks with different numbers of batches."""

import pytest
from dovetail.distributed.algorithms.join import Join, Joinable, JoinHook

import dovetail
import dovetail.distributed as dist
import dovetail.nn.functional as F
from dovetail import nn
from dovetail.distributed.optim import ZeroRedundancyOptimizer
from dovetail.nn.parallel import DistributedDataParallel
from dovetail.optim import Adam


def make():
    dovetail.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def batch(rank, step):
    dovetail.manual_seed(100 * rank + step)
    return dovetail.randn(5, 4), dovetail.randint(0, 3, (5,))


def loss_of(model, rank, step):
    x, y = batch(rank, step)
    return F.cross_entropy(model(x), y)


def check_a_model_and_its_optimizer_train_on_uneven_inputs(rank, size):
    for divide_by_all in (True, False):
        lead, model = make(), DistributedDataParallel(make(), bucket_cap_mb=1e-4)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), Adam, lr=0.05)
        with Join([model, optimizer], divide_by_initial_world_size=divide_by_all):
            for step in range(rank + 2):  # rank 0 has the fewest batches, and a part of the state
                optimizer.zero_grad()
                loss_of(model, rank, step).backward()
                optimizer.step()
        alone = Adam(lead.parameters(), lr=0.05)
        for step in range(size + 1):
            having = [each for each in range(size) if step < each + 2]
            alone.zero_grad()
            losses = [loss_of(lead, each, step) for each in having]
            (sum(losses) / (size if divide_by_all else len(having))).backward()
            alone.step()
        for one, two in zip(model.parameters(), lead.parameters(), strict=True):
            dovetail.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)
        loss_of(model, rank, 0).backward()  # as if there had been no context
        optimizer.step()


def check_all_ranks_raise_when_one_has_no_more_inputs(rank, size):
    if size == 1:
        return
    model = DistributedDataParallel(make())
    with (
        pytest.raises(RuntimeError, match="Detected at least one rank that exhausted inputs"),
        Join([model], throw_on_early_termination=True),
    ):
        for step in range(rank + 1):
            loss_of(model, rank, step).backward()
    with Join([model], enable=False):
        loss_of(model, rank, 0).backward()


def check_objects_of_others_join(rank, size):
    class Counter(Joinable):
        """Counts the inputs of all ranks."""

        count, last = 0, None
        join_device = dovetail.device("cpu")
        join_process_group = dist.group.WORLD

        def __call__(self, has_input=True):
            Join.notify_join_context(self)
            every = dovetail.tensor(int(has_input))
            dist.all_reduce(every)
            self.count += int(every)

        def join_hook(self, weight):
            return Hook(self, weight)

    class Hook(JoinHook):
        def __init__(self, counter, weight):
            self.counter, self.weight = counter, weight

        def main_hook(self):
            self.counter(has_input=False)

        def post_hook(self, is_last_joiner):
            self.counter.count *= self.weight
            self.counter.last = is_last_joiner

    counter = Counter()
    with Join([counter], weight=10):
        for _ in range(3 * rank + 1):
            counter()
    assert counter.count == 10 * sum(3 * each + 1 for each in range(size))
    assert counter.last == (rank == size - 1)


def check_wrong_contexts_are_refused(rank, size):
    with pytest.raises(ValueError, match="requires at least one joinable"):
        Join([])
    alone = [dist.new_group([each]) for each in range(size)][rank]
    models = [DistributedDataParallel(make(), process_group=each) for each in (None, alone)]
    with pytest.raises(ValueError, match="multiple process groups"):
        Join(models)

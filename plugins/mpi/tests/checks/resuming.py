"""A training that saves a checkpoint after each step; ends itself after some, and resumes.

Arguments: the path, and after how many steps to be killed (0: never). The state says which samples
were seen in which step.
"""

import os
import signal
import sys

import dovetail
import dovetail.distributed as dist
from dovetail import nn
from dovetail.utils.data import DataLoader, DistributedSampler, TensorDataset

path, kill_after = sys.argv[1], int(sys.argv[2])
TOGETHER = 12  # samples of a step, on however many ranks
dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
dovetail.manual_seed(0)
data = TensorDataset(dovetail.arange(60), dovetail.randn(60, 4), dovetail.randn(60, 2))
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
optimizer = dovetail.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
sampler = DistributedSampler(data)
loader = DataLoader(data, TOGETHER // size, sampler=sampler)

state = dist.load_checkpoint(path) or {"epoch": 0, "seen": 0, "order": []}
if "model" in state:
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
steps = 0
while state["epoch"] < 2:
    sampler.set_epoch(state["epoch"], state["seen"])
    for index, x, y in loader:
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
        every = [None] * size
        dist.all_gather_object(every, index.tolist())
        state["seen"] += TOGETHER
        state["order"].append(sorted(i for part in every for i in part))
        state["model"], state["optimizer"] = model.state_dict(), optimizer.state_dict()
        dist.save_checkpoint(state, path)
        steps += 1
        if steps == kill_after and rank == size - 1:
            os.kill(os.getpid(), signal.SIGKILL)
    state["epoch"], state["seen"] = state["epoch"] + 1, 0
dist.destroy_process_group()

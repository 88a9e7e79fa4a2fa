"""A program for PyTorch, run by it with gloo and by ``dovetail run`` with MPI: rank 0 prints what
both must agree on.
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group(os.environ["BACKEND"])
rank, size = dist.get_rank(), dist.get_world_size()


def show(label, value):
    if rank == 0:
        if isinstance(value, torch.Tensor):
            value = [
                float(f"{round(float(each), 4):.3g}") + 0.0 for each in value.detach().reshape(-1)
            ]
        print(label, value)


def attempt(label, call):
    try:
        value = call()
    except Exception as error:
        value = type(error).__name__
    show(label, value)


x = torch.arange(4.0) + rank
for op in ("SUM", "PRODUCT", "MIN", "MAX", "AVG"):
    y = x.clone()
    dist.all_reduce(y, getattr(dist.ReduceOp, op))
    show(op, y)
for dtype in (torch.float16, torch.int8, torch.bool, torch.complex64):
    y = (torch.arange(3) + rank).to(dtype)
    dist.broadcast(y, 1)
    show(str(dtype).rpartition(".")[2], y.tolist())
parts = [torch.empty(4) for _ in range(size)]
dist.all_gather(parts, x)
show("all_gather", torch.stack(parts))
dist.reduce(y := x.clone(), 0)
show("reduce", y)
out = torch.empty(size)
dist.all_to_all_single(out, torch.arange(float(size)) + 10 * rank)
show("all_to_all_single", out)
into = torch.empty(2)
dist.reduce_scatter_tensor(into, torch.arange(2.0 * size))
show("reduce_scatter", into)
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank})
show("objects", objects)
work = dist.all_reduce(y, async_op=True)
show("work", (work.wait(), work.is_completed()))
pair = dist.new_group([1])
show("group", (dist.get_rank(pair), dist.get_world_size(pair)))
dist.barrier()
attempt("twice", lambda: dist.init_process_group(os.environ["BACKEND"]))
attempt("list", lambda: dist.all_reduce([1]))
attempt("complex", lambda: dist.all_reduce(torch.ones(1).cfloat(), dist.ReduceOp.MAX))
attempt("bits", lambda: dist.all_reduce(torch.ones(1), dist.ReduceOp.BAND))
attempt("gather", lambda: dist.gather(x, None if rank == 0 else [x, x], 0))
attempt("self", lambda: dist.send(x, rank))

sampler = DistributedSampler(range(11), shuffle=False)
show("sampler", (list(sampler), len(sampler)))


def make():
    model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 2))
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape) * (number + 1) * (rank + 1))
    return model


for options in ({}, {"gradient_as_bucket_view": True}, {"static_graph": True}):
    model = DistributedDataParallel(make(), bucket_cap_mb=1e-5, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(3):
        data = torch.sin(torch.arange(24.0).reshape(6, 4) * (rank + 1) + step)
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()
    for name, value in model.state_dict().items():
        show(name, value)
model = DistributedDataParallel(make())
with model.no_sync():
    model(torch.eye(4)).square().sum().backward()
model(torch.eye(4).flip(0) * (rank + 1)).square().sum().backward()
show("no_sync", model.module[0].weight.grad)
model.register_comm_hook(None, default_hooks.allreduce_hook)
model.zero_grad()
model(torch.eye(4) + rank).square().sum().backward()
show("hook", model.module[3].weight.grad)
attempt("second hook", lambda: model.register_comm_hook(None, default_hooks.allreduce_hook))


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        return self.used(x)


model = DistributedDataParallel(Half(), find_unused_parameters=True)
model(torch.ones(1, 2)).sum().backward()
show("unused", (model.module.unused.weight.grad, model.module.used.weight.grad.tolist()))
model = DistributedDataParallel(Half())
model(torch.ones(1, 2)).sum().backward()
attempt("missing", lambda: model(torch.ones(1, 2)))
attempt("no parameters", lambda: DistributedDataParallel(nn.ReLU()))
model = DistributedDataParallel(make())
with model.join():
    for step in range(rank + 1):
        model(torch.ones(3, 4) * step).square().mean().backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
                p.grad = None
show("join", model.module[0].weight)
dist.destroy_process_group()
attempt("after", lambda: dist.all_reduce(x))

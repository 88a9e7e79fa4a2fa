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
for count in (1, 3):
    short = [torch.empty(4) for _ in range(count)]
    attempt("all_gather list", lambda short=short: dist.all_gather(short, x))
    attempt("reduce_scatter list", lambda short=short: dist.reduce_scatter(x, short))
    attempt("all_to_all list", lambda short=short: dist.all_to_all(short, short))
attempt("shape", lambda: dist.all_gather([torch.empty(2), torch.empty(2)], x))
attempt("dtype", lambda: dist.all_gather([x.double(), x.double()], x))
attempt("whole", lambda: dist.all_gather_into_tensor(torch.empty(9), x))
attempt("split", lambda: dist.all_to_all_single(torch.empty(4), x, [1, 1], [2, 2]))
attempt("splits", lambda: dist.all_to_all_single(torch.empty(4), x, [4], [4]))
for other in (5, -1):
    attempt("broadcast root", lambda other=other: dist.broadcast(x, other))
    attempt("reduce root", lambda other=other: dist.reduce(x, other))
    attempt("scatter root", lambda other=other: dist.scatter(x, None, other))
    attempt("gather root", lambda other=other: dist.gather(x, None, other))
    attempt("object root", lambda other=other: dist.broadcast_object_list([1], other))
attempt("group root", lambda: dist.broadcast(x, group_src=5))
attempt("kind of op", lambda: dist.all_reduce(x, "sum"))
attempt("repeated", lambda: dist.new_group([0, 0]))
attempt("beyond", lambda: dist.new_group([0, 5]))
attempt("too many", lambda: dist.new_group([0, 1, 2]))
attempt("function", lambda: dist.P2POp(dist.broadcast, x, 0))

# More of what programs do with collectives: parts of tensors, several groups, work that overlaps.
table = torch.arange(12.0).reshape(4, 3) * (rank + 1)
dist.broadcast(table[1], 1)
show("part", table)
works = [dist.all_reduce(table[row], async_op=True) for row in range(4)]
show("several", [work.wait() for work in reversed(works)])
show("summed", table)
alone = [dist.new_group([each]) for each in range(size)]
dist.all_reduce(table, group=alone[rank])
dist.reduce_scatter(out := torch.empty(2, 3), [table[:2].clone(), table[2:].clone()])
show("reduce_scatter", out)
dist.reduce_scatter_tensor(out := torch.empty(2, 3), table, dist.ReduceOp.MAX)
show("greatest", out)
dist.all_gather_into_tensor(whole := torch.empty(4 * size, 3), table)
show("joined", whole)
dist.scatter(out := torch.empty(3), list(table[:2].clone()) if rank == 0 else None, 0)
show("scatter", out)
uneven = torch.empty(3 if rank else 1)
received, sent = ([2, 1], [1, 1]) if rank else ([0, 1], [0, 2])
dist.all_to_all_single(uneven, torch.arange(2.0) + rank, received, sent)
show("uneven", uneven)
requests = dist.batch_isend_irecv(
    [dist.P2POp(dist.isend, table, 1 - rank), dist.P2POp(dist.irecv, got := table * 0, 1 - rank)]
)
show("exchanged", [request.wait() is not False for request in requests])
show("received", got)
dist.scatter_object_list(one := [None], [{"a": 1}, 2] if rank == 0 else None)
dist.gather_object(rank, every := [None, None] if rank == 0 else None)
show("objects again", (one, every))

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

"""Groups that are made and left again and again, and a program that never says good-bye."""

from datetime import timedelta

import dovetail
import dovetail.distributed as dist

for _ in range(3):
    dist.init_process_group("mpi", timeout=timedelta(seconds=600))
    x = dovetail.ones(2)
    dist.all_reduce(x)
    assert x[0].item() == dist.get_world_size()
    for _ in range(20):
        dist.destroy_process_group(dist.new_group())
    dist.destroy_process_group()
dist.init_process_group("mpi")
work = dist.all_reduce(x, async_op=True)
work.wait()
print("done")

"""A training in which rank 1 fails in the way that the first argument names."""

import os
import signal
import sys
import time
from datetime import timedelta

import dovetail
import dovetail.distributed as dist
from dovetail import nn

how = sys.argv[1]
dist.init_process_group("mpi", timeout=timedelta(seconds=3 if how == "hangs" else 600))
rank = dist.get_rank()
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
for step in range(5):
    if rank == 1 and step == 3:
        print("failing now", flush=True)
        if how == "raises":
            raise ArithmeticError("rank 1 cannot count")
        if how == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exits":
            sys.exit(3)
        if how == "hangs":
            time.sleep(600)
        if how in ("has one batch less", "leaves", "goes to a barrier"):
            break
    try:
        model(dovetail.ones(2, 4)).sum().backward()
    except dist.DistBackendError as error:
        print(f"rank {rank} reports {type(error).__name__}: {error}", flush=True)
        if how == "goes to a barrier":
            sys.exit(0)  # even so the program does not end as if all were well
        raise
if how == "goes to a barrier":
    try:
        dist.barrier()
    except dist.DistBackendError as error:
        print(f"rank {rank} reports {type(error).__name__}: {error}", flush=True)
        raise
if how == "leaves":
    dist.destroy_process_group()
    time.sleep(600)

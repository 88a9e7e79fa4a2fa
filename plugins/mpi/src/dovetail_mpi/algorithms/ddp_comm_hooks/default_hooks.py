"""Hooks that average a bucket, in its dtype or in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail

from ...collectives.reductions import all_reduce
from ...data_parallel import GradBucket
from ...groups import member
from ...process_group import ProcessGroup
from ...work import Future


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """Average as `DistributedDataParallel` does without a hook."""
    return _averaged(process_group, bucket.buffer())


def _averaged(process_group: ProcessGroup | None, tensor: dovetail.Tensor) -> Future:
    group = member(process_group)
    work = all_reduce(tensor.div_(group.size()), group=group, async_op=True)
    assert work is not None
    return work.get_future()


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """Average gradients that are rounded to float16.

    MPI has no sum of halves, so float32 travels on this backend: what is saved is nothing, what is
    lost is the same as elsewhere.
    """
    return _compressed(process_group, bucket, dovetail.float16)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """Average gradients that are rounded to bfloat16; as `fp16_compress_hook`."""
    return _compressed(process_group, bucket, dovetail.bfloat16)


def _compressed(process_group: ProcessGroup | None, bucket: GradBucket, dtype: object) -> Future:
    buffer = bucket.buffer()
    future = _averaged(process_group, buffer.to(dtype))

    @dovetail.no_grad()
    def widened(done: Future) -> Any:
        return buffer.copy_(done.value()[0])

    return future.then(widened)


def fp16_compress_wrapper(hook: Callable[..., Future]) -> Callable[..., Future]:
    """Return a hook that rounds gradients to float16 before `hook`, which averages."""
    return _wrapped(hook, dovetail.float16)


def bf16_compress_wrapper(hook: Callable[..., Future]) -> Callable[..., Future]:
    """Return a hook that rounds gradients to bfloat16 before `hook`, which averages."""
    return _wrapped(hook, dovetail.bfloat16)


def _wrapped(hook: Callable[..., Future], dtype: object) -> Callable[..., Future]:
    def rounding(state: object, bucket: GradBucket) -> Future:
        bucket.set_buffer(bucket.buffer().to(dtype))
        return hook(state, bucket)

    return rounding

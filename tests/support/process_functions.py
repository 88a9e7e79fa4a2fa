"""What the processes of `test_multiprocessing` run: functions that a new interpreter can import."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import dovetail


def add_one(index: int, shared: Any, queue: Any) -> None:
    shared[index] += 1
    queue.put(index)


def write_received(queue: Any, answers: Any) -> None:
    tensor = queue.get()
    again = queue.get()
    tensor.fill_(7)
    answers.put((tensor.is_shared(), again.tolist(), again.data_ptr() == tensor.data_ptr()))


def raise_in_second(index: int) -> None:
    if index == 1:
        raise ValueError("no such thing")
    time.sleep(60)


def leave_in_second(index: int) -> None:
    if index == 1:
        os._exit(3)
    time.sleep(60)


def die(index: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class NewTensors:
    """Sends tensors that nothing holds in this process."""

    def __getstate__(self) -> dict[str, Any]:
        return {"tensors": [dovetail.full((3,), float(each)) for each in (1, 2, 3)]}


def sums_of(sent: Any, answers: Any) -> None:
    """Answer with the sums of the tensors of `sent`."""
    answers.put([each.sum().item() for each in sent.tensors])

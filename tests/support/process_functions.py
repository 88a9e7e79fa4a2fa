"""What the processes of `test_multiprocessing` run: functions that a new interpreter can import."""

from __future__ import annotations

import os
import signal
import time
from typing import Any


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

"""`dovetail.multiprocessing`: processes that share tensors."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import process_functions
import pytest

import dovetail
import dovetail.multiprocessing as mp

pytestmark = pytest.mark.cpu_only(reason="memory of the host is shared")

if not hasattr(os, "fork"):
    pytest.skip("there are no descriptors to send", allow_module_level=True)


def test_new_processes_write_to_the_memory_of_a_tensor() -> None:
    context: Any = mp.get_context("spawn")
    shared, queue = dovetail.zeros(2), context.SimpleQueue()
    alias = shared.view(2, 1)
    assert not shared.is_shared()
    mp.spawn(process_functions.add_one, (shared, queue), nprocs=2)
    assert shared.is_shared()
    assert shared.tolist() == alias.flatten().tolist() == [1.0, 1.0]
    assert sorted([queue.get(), queue.get()]) == [0, 1]


def test_tensors_through_a_queue_share_memory_and_views_of_one_storage_stay_so() -> None:
    context: Any = mp.get_context("fork")
    queue, answers = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=process_functions.write_received, args=(queue, answers))
    process.start()
    sent = dovetail.arange(4.0)
    queue.put(sent)
    queue.put(sent[:2])
    assert answers.get() == (True, [7.0, 7.0], True)
    process.join()
    assert sent.tolist() == [7.0] * 4


def test_what_is_received_is_one_storage_for_one_sent() -> None:
    queue: Any = mp.SimpleQueue()
    sent = dovetail.arange(4.0)
    queue.put((sent, sent[1:]))
    whole, part = queue.get()
    part[0] = 9
    assert whole.tolist() == sent.tolist() == [0.0, 9.0, 2.0, 3.0]
    queue.put(sent)
    assert queue.get().data_ptr() == whole.data_ptr()


def test_parameters_and_empty_tensors_arrive() -> None:
    queue: Any = mp.SimpleQueue()
    queue.put((dovetail.nn.Parameter(dovetail.ones(2)), dovetail.zeros(0, 3)))
    parameter, empty = queue.get()
    assert isinstance(parameter, dovetail.nn.Parameter)
    assert parameter.requires_grad
    assert empty.shape == (0, 3)


@pytest.mark.parametrize("kind", ["bytes", "array", "shown array", "exported"])
def test_tensors_on_memory_of_another_library_are_shared_and_leave_it(kind: str) -> None:
    array = np.ones(3, np.float32)
    sent = {
        "bytes": lambda: dovetail.frombuffer(bytearray(array.tobytes()), dtype=dovetail.float32),
        "array": lambda: dovetail.from_numpy(array.copy()),
        "shown array": lambda: dovetail.from_numpy(array),
        "exported": lambda: dovetail.ones(3),
    }[kind]()
    exported = sent.numpy() if kind == "exported" else array
    view = sent[1:]
    queue: Any = mp.SimpleQueue()
    queue.put(sent)
    received = queue.get()
    received += 4
    assert sent.is_shared()
    assert received.tolist() == sent.tolist() == [5.0] * 3
    assert view.tolist() == [5.0] * 2
    assert exported.tolist() == [1.0] * 3


def test_tensors_that_live_only_while_they_are_sent_arrive_in_new_processes() -> None:
    context: Any = mp.get_context("spawn")
    answers = context.SimpleQueue()
    arguments = (process_functions.NewTensors(), answers)
    process = context.Process(target=process_functions.sums_of, args=arguments)
    process.start()
    assert answers.get() == [3.0, 6.0, 9.0]
    process.join()


def test_what_an_operator_made_with_gradients_is_refused() -> None:
    queue: Any = mp.SimpleQueue()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        queue.put(dovetail.ones(2, requires_grad=True) * 2)


def test_shared_memory_is_given_back() -> None:
    handles = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None
    for _ in range(20):
        dovetail.ones(1000).share_memory_()
    if handles is not None:
        assert len(os.listdir("/proc/self/fd")) <= handles + 1


def test_an_error_in_a_process_arrives_with_its_traceback() -> None:
    start = time.monotonic()
    with pytest.raises(mp.ProcessRaisedException) as caught:
        mp.spawn(process_functions.raise_in_second, nprocs=2, start_method="fork")
    assert time.monotonic() - start < 50  # the others are ended
    assert "-- Process 1 terminated with the following error:" in str(caught.value)
    assert "ValueError: no such thing" in str(caught.value)
    assert caught.value.error_index == 1


def test_a_process_that_ends_by_itself_is_named() -> None:
    with pytest.raises(mp.ProcessExitedException, match="process 1 terminated with exit code 3"):
        mp.spawn(process_functions.leave_in_second, nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL") as caught:
        mp.spawn(process_functions.die, start_method="fork")
    assert caught.value.signal_name == "SIGKILL"


def test_processes_need_not_be_waited_for() -> None:
    queue: Any = mp.get_context("fork").SimpleQueue()
    arguments = (dovetail.zeros(1).share_memory_(), queue)
    started = mp.start_processes(
        process_functions.add_one, arguments, join=False, start_method="fork"
    )
    assert started is not None
    assert len(started.pids()) == 1
    while not started.join(timeout=60):
        pass
    assert arguments[0].tolist() == [1.0]


def test_strategies_have_names_and_one_way() -> None:
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    mp.set_sharing_strategy("file_descriptor")
    assert mp.get_sharing_strategy() == "file_descriptor"
    with pytest.warns(UserWarning, match="changes nothing"):
        mp.set_sharing_strategy("file_system")
    with pytest.raises(AssertionError, match="invalid sharing strategy 'x', expected one of"):
        mp.set_sharing_strategy("x")

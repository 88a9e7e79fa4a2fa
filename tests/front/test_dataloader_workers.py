"""`DataLoader` with worker processes: what they send, how they fail, and what is left of them."""

import gc
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from worker_datasets import Counted, Drawn, Failing, Locks, SlowFirst, Structured, as_they_are

import dovetail
from dovetail.utils.data import DataLoader, TensorDataset

pytestmark = [
    pytest.mark.cpu_only(reason="samples are sent in host memory"),
    pytest.mark.skipif(os.name != "posix", reason="descriptors are sent through sockets"),
]


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Look for processes and descriptors that are left behind; shared memory has no name here,
    only descriptors.
    """

    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0

    before = descriptors()
    yield
    after = descriptors()
    assert multiprocessing.active_children() == []
    assert after <= before + 1  # the tracker of multiprocessing


def flat(batches):
    return [
        [tensor.tolist(), parts["name"], parts["array"].tolist(), index.tolist()]
        for tensor, parts, index in batches
    ]


def test_batches_of_workers_are_those_without():
    options = {"batch_size": 3}
    expected = flat(DataLoader(Structured(), **options))
    batches = list(DataLoader(Structured(), num_workers=2, prefetch_factor=1, **options))
    assert flat(batches) == expected
    batches[0][0].add_(1)  # what comes is memory of its own
    assert flat(batches)[1:] == expected[1:]


def test_a_view_is_sent_without_the_storage_that_it_is_a_view_of():
    rows = dovetail.arange(40_000.0).reshape(10, 4000)
    for number, (row,) in enumerate(DataLoader(TensorDataset(rows), None, num_workers=1)):
        assert row.tolist() == rows[number].tolist()
        assert row.untyped_storage().nbytes() == 16_000


def test_an_iterable_dataset_is_divided_by_what_workers_know():
    loader = DataLoader(Counted(), batch_size=2, num_workers=2)
    assert [batch.tolist() for batch in loader] == [[0, 2], [1, 3], [4, 6], [5]]
    loader = DataLoader(Counted(), batch_size=2, num_workers=2, drop_last=True)
    assert [batch.tolist() for batch in loader] == [[0, 2], [1, 3], [4, 6]]


@pytest.mark.parametrize(
    ("how", "error", "last"),
    [
        ("key", KeyError, r"KeyError: 'no\nsuch key'"),
        ("arguments", RuntimeError, "OfTwoArguments: (1, 2)"),
    ],
)
def test_an_exception_comes_with_the_traceback_of_the_worker(how, error, last):
    batches = iter(DataLoader(Failing(how), num_workers=2))
    assert [next(batches).item(), next(batches).item()] == [0, 1]
    with pytest.raises(error) as caught:
        next(batches)
    message = str(caught.value)
    name = "KeyError" if how == "key" else "OfTwoArguments"
    assert message.startswith(f"Caught {name} in DataLoader worker process 0.\nOriginal Traceback")
    assert "in fail" in message
    assert message.rstrip().endswith(last)
    assert next(batches).item() == 3  # the worker goes on


def test_a_sample_that_can_not_be_sent_and_a_worker_that_can_not_begin_are_errors():
    with pytest.raises(TypeError, match=r"Caught TypeError in DataLoader worker(.|\n)*lock"):
        list(DataLoader(Locks(), num_workers=1, collate_fn=as_they_are))
    with pytest.raises(TypeError, match=r"Caught TypeError in DataLoader worker process 0"):
        list(DataLoader(Structured(), num_workers=1, worker_init_fn=len))
    made = dovetail.ones(3, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(DataLoader([made], None, num_workers=1, collate_fn=as_they_are))


@pytest.mark.parametrize(
    ("how", "reason"), [("kill", "killed by signal: Killed"), ("exit", "exit code 3")]
)
def test_a_worker_that_dies_is_an_error_and_no_wait(how, reason):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited") as caught:
        list(DataLoader(Failing(how), num_workers=2, persistent_workers=True))
    assert reason in str(caught.value)
    assert time.monotonic() - start < 20


def test_a_worker_that_takes_too_long_is_an_error():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
        list(DataLoader(Failing("sleep"), num_workers=1, timeout=0.5))


def test_workers_that_stay_go_through_the_dataset_again():
    generator = dovetail.Generator().manual_seed(0)
    options = {"shuffle": True, "num_workers": 1, "persistent_workers": True}
    loader = DataLoader(Drawn(), None, generator=generator, **options)
    first, second = [[row[4] for row in loader] for _ in range(2)]
    assert len({*first, *second}) == 1
    next(iter(loader))  # left before its end
    assert len(list(loader)) == 7


def test_equal_generators_make_equal_shuffles_and_equal_numbers_in_workers():
    def run():
        generator = dovetail.Generator().manual_seed(3)
        loader = DataLoader(Drawn(), None, num_workers=2, generator=generator)
        return [row[:4] for row in loader]

    rows = run()
    assert run() == rows
    assert rows[0][3] + 1 == rows[1][3]
    assert len({row[0] for row in rows}) == 7


def test_a_fork_of_the_process_leaves_its_workers_alone():
    batches = iter(DataLoader(Structured(), num_workers=1, prefetch_factor=1))
    child = os.fork()
    if child == 0:
        batches.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(list(batches)) == 7


def test_batches_may_come_as_they_arrive():
    options = {"num_workers": 2, "batch_size": None}
    assert list(DataLoader(SlowFirst(), **options)) == list(range(7))
    found = list(DataLoader(SlowFirst(), in_order=False, **options))
    assert sorted(found) == list(range(7))
    assert found[0] != 0


def test_workers_that_are_spawned_import_what_they_need():
    loader = DataLoader(Structured(), 4, num_workers=1, multiprocessing_context="spawn")
    assert flat(loader) == flat(DataLoader(Structured(), 4))


PROGRAM = """
import os, signal
from worker_datasets import Structured
from dovetail.utils.data import DataLoader
batches = iter(DataLoader(Structured(), num_workers=2))
held = next(batches)
print(*[worker.process.pid for worker in batches._workers], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_when_the_process_that_started_them_is_killed():
    support = Path(__file__).parents[1] / "support"
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(support)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,  # it kills itself
    )
    pids = [int(pid) for pid in run.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 20
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # in a container without an init process it stays so

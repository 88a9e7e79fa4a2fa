"""One pass over a dataset, in this process or with workers."""

from __future__ import annotations

import os
import signal
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import connection
from typing import Any, Final, NamedTuple

from dovetail_kernel import warn_user

from ..sampler import drawn_seed
from .channels import Channel, pair
from .fetch import fetcher_of
from .pin_memory import pin_memory
from .worker import Caught, Ended, Job, Work, work

_PATIENCE: Final = 2.0


class LoaderOptions(NamedTuple):
    """What an iterator needs of a `DataLoader`, which it outlives."""

    dataset: Any
    is_iterable: bool
    is_batched: bool
    index_sampler: Any
    num_workers: int
    prefetch_factor: int | None
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    timeout: float
    worker_init_fn: Callable[[int], Any] | None
    generator: Any
    in_order: bool
    pins: bool
    context: Any


class BatchIterator(Iterator[Any]):
    """Yields what a `DataLoader` makes of its dataset."""

    def __init__(self, options: LoaderOptions) -> None:
        self.options = options
        self.said_length: int | None = None
        self.base_seed = drawn_seed(options.generator)
        self._start()

    def _start(self) -> None:
        self._indices = iter(self.options.index_sampler)
        self._yielded = 0

    def _next(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next()
        self._yielded += 1
        if self.said_length is not None and self._yielded > self.said_length:
            self._warn_of_length(self.said_length)
        return pin_memory(data) if self.options.pins else data

    def __len__(self) -> int:
        return len(self.options.index_sampler)

    def _warn_of_length(self, said: int) -> None:
        advice = ""
        if self.options.num_workers:
            advice = (
                "For multiprocessing data-loading, this could be caused by not properly "
                "configuring the IterableDataset replica at each worker. Let get_worker_info() "
                "decide which samples each worker yields."
            )
        warn_user(
            f"Length of IterableDataset {self.options.dataset} was reported to be {said}"
            f"(when accessing len(dataloader)), but {self._yielded} samples have been fetched. "
            f"{advice}"
        )


class SerialIterator(BatchIterator):
    """Fetches each batch when it is asked for."""

    def __init__(self, options: LoaderOptions) -> None:
        super().__init__(options)
        self._fetcher = fetcher_of(
            options.dataset,
            options.is_iterable,
            options.is_batched,
            options.collate_fn,
            options.drop_last,
        )

    def _next(self) -> Any:
        return self._fetcher.fetch(next(self._indices))


class _Worker:
    """A worker process, and this end of its channel."""

    def __init__(self, process: Any, channel: Channel) -> None:
        self.process = process
        self.channel = channel
        self.is_exhausted = False


class ProcessIterator(BatchIterator):
    """Has worker processes fetch batches ahead of time.

    Every worker has a channel of its own, and shares no lock with others: one that is killed, at
    whatever moment, leaves nothing that others wait for.
    """

    def __init__(self, options: LoaderOptions) -> None:
        self._number = 0
        self._workers: list[_Worker] = []
        super().__init__(options)
        self._stop = weakref.finalize(self, _stop, self._workers, os.getpid())
        try:
            self._start_workers()
            self._fill()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        super()._start()
        self._waiting: dict[int, _Worker] = {}
        self._arrived: dict[int, Any] = {}
        self._turn = 0

    def restart(self) -> None:
        """Begin another pass with the same workers."""
        self._start()
        for worker in self._workers:
            worker.is_exhausted = False
            self._send(worker, Work(None))
        self._fill()

    @property
    def is_open(self) -> bool:
        """Whether there are workers; not after `close`."""
        return bool(self._workers)

    def close(self) -> None:
        """End the workers."""
        self._stop()

    _shutdown_workers = close

    def _start_workers(self) -> None:
        options, context = self.options, self.options.context
        is_fork = context.get_start_method() == "fork"
        for number in range(options.num_workers):
            job = Job(
                options.dataset,
                options.is_iterable,
                options.is_batched,
                options.collate_fn,
                options.drop_last,
                options.worker_init_fn,
                self.base_seed,
                number,
                options.num_workers,
            )
            ours, theirs = pair()
            inherited = [*[worker.channel for worker in self._workers], ours] if is_fork else []
            process = context.Process(target=work, args=(job, theirs, inherited), daemon=True)
            try:
                process.start()
            except BaseException:
                ours.hang_up()
                raise
            finally:
                theirs.close()
            self._workers.append(_Worker(process, ours))

    def _fill(self) -> None:
        for _ in range(max(self.options.prefetch_factor or 1, 1) * len(self._workers)):
            self._ask()

    def _ask(self) -> None:
        """Give the next index to the next worker that has samples left."""
        count = len(self._workers)
        turns = [self._workers[(self._turn + step) % count] for step in range(count)]
        worker = next(iter([each for each in turns if not each.is_exhausted]), None)
        if worker is None:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        self._turn = (self._workers.index(worker) + 1) % count
        self._send(worker, Work(self._number, index))
        self._waiting[self._number] = worker
        self._number += 1

    def _next(self) -> Any:
        while self._waiting:
            number = next(iter(self._waiting))
            if number not in self._arrived and self._arrived and not self.options.in_order:
                number = next(iter(self._arrived))
            if number not in self._arrived:
                self._receive()
                continue
            worker, data = self._waiting.pop(number), self._arrived.pop(number)
            if isinstance(data, Ended):
                worker.is_exhausted = True
                self._ask()
                continue
            self._ask()
            if isinstance(data, Caught):
                data.reraise(f"in DataLoader worker process {self._workers.index(worker)}")
            return data
        raise StopIteration

    def _receive(self) -> None:
        """Wait for messages, and take them in."""
        timeout = self.options.timeout or None
        channels = {worker.channel: worker for worker in self._workers}
        sentinels = [worker.process.sentinel for worker in self._workers]
        waited: list[Any] = [*channels, *sentinels]
        ready: list[Any] = connection.wait(waited, timeout)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self.options.timeout} seconds")
        heard = [channels[each] for each in ready if isinstance(each, Channel)]
        for worker in heard:
            try:
                number, data = worker.channel.receive()
            except (EOFError, ConnectionError):
                self._died(worker)
            if number in self._waiting:  # else of a pass that was left before its end
                self._arrived[number] = data
        if not heard:
            self._died(
                next(iter([each for each in self._workers if each.process.sentinel in ready]))
            )

    def _send(self, worker: _Worker, message: Work) -> None:
        try:
            worker.channel.send(message)
        except ConnectionError:
            self._died(worker)

    def _died(self, worker: _Worker) -> None:
        """Raise what is known of the end of a worker."""
        worker.process.join(_PATIENCE)
        code, pid = worker.process.exitcode, worker.process.pid
        self.close()
        how = f"exit code {code}"
        if code is not None and code < 0:
            how = f"killed by signal: {signal.strsignal(-code)}"
        raise RuntimeError(
            f"DataLoader worker (pid(s) {pid}) exited unexpectedly ({how}). If memory ran out, use "
            "fewer workers or smaller batches; num_workers=0 shows where else it fails."
        )


def _stop(workers: list[_Worker], owner: int) -> None:
    """End worker processes: asked to, and then made to."""
    if os.getpid() == owner:  # a fork of that process has no workers
        for worker in workers:
            worker.channel.hang_up()
        for worker in workers:
            worker.process.join(_PATIENCE)
            for end in (worker.process.terminate, worker.process.kill):
                if worker.process.is_alive():
                    end()
                    worker.process.join(_PATIENCE)
    workers.clear()

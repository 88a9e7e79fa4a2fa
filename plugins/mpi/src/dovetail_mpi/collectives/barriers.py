"""Collectives that wait for all ranks: `barrier`, `monitored_barrier`."""

from __future__ import annotations

from datetime import timedelta

from ..process_group import ProcessGroup
from ..work import Work
from .arguments import for_members

Group = ProcessGroup | None


@for_members
def barrier(
    group: Group = None,
    async_op: bool = False,
    device_ids: object = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait until all ranks have called this function, at most for `timeout` (default: the timeout
    of the group).

    `device_ids` is accepted for compatibility.
    """
    assert group is not None
    work = Work(group.begin("barrier()", 0, group.communicators.meeting.Ibarrier), lambda: None)
    if async_op:
        return work
    work.wait(timeout)
    return None


@for_members
def monitored_barrier(
    group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all ranks have called this function; after the timeout, the error names the
    missing ranks.

    `barrier` does the same. `wait_all_ranks` is accepted for compatibility.
    """
    assert group is not None
    work = Work(
        group.begin("monitored_barrier()", 0, group.communicators.meeting.Ibarrier), lambda: None
    )
    work.wait(timeout)

"""The errors of `dovetail.distributed`."""


class DistError(RuntimeError):
    """A call of `dovetail.distributed` failed."""


class DistBackendError(DistError):
    """A transfer between processes failed: a process ended, hangs, or called another collective."""

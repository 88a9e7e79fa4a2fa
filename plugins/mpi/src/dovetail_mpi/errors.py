"""The errors of processes that work together."""

__all__ = ["DistBackendError", "DistError"]


class DistError(RuntimeError):
    """Something between processes failed."""


class DistBackendError(DistError):
    """A transfer between processes failed: a process left, hangs, or called something else."""

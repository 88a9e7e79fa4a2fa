"""Dispatch keys, sets of them, and the dispatch state of the running task.

May import `devices` and what lies below.
"""

from ..stubs import attach_stub

__getattr__ = attach_stub(__name__)

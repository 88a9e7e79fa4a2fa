"""Answers about operators and calls: `explain`, `trace`, dumps of the table, `opcheck`.

May import every other room.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)

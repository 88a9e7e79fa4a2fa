"""Devices and the table of backends that stand behind them.

May import `types`.
"""

from ..stubs import attach_stub

__getattr__ = attach_stub(__name__)

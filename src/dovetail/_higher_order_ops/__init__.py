"""Branches, loops and scans that take functions, as ``torch._higher_order_ops``: they run as they
stand.
"""

from ..functions.control_flow import cond, while_loop
from .associative_scan import associative_scan
from .scan import scan

__all__ = ["associative_scan", "cond", "scan", "while_loop"]

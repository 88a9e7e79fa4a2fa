"""Modes, `__torch_function__` and `__torch_dispatch__`: how calls are intercepted before a kernel
runs.

May import `table` and what lies below.
"""

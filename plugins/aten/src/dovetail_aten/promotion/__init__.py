"""Promotion: the dtype that a call of the base library computes in, and the dtypes it refuses.

Fills the socket ``PROMOTION`` of the dispatcher, and stands on that alone.
"""

"""Kernels of families that differ from those written for every array namespace.

May import `random` and what lies below.
"""

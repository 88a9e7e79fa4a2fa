"""Random numbers: PyTorch's generator and its draws.

May import `functions` and what lies below.
"""

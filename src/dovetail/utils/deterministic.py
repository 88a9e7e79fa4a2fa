"""The setting ``torch.utils.deterministic.fill_uninitialized_memory``; it may be set, but
uninitialized memory is never filled.
"""

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True

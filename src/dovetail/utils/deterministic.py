"""A switch of ``torch.utils.deterministic``: ``fill_uninitialized_memory`` may be set, and memory
that is not set is never filled.
"""

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True

"""`AdamW` and its function, where PyTorch has them."""

from functools import partial

from .adam import AdamW, adam

__all__ = ["AdamW", "adamw"]

adamw = partial(adam, decoupled_weight_decay=True)

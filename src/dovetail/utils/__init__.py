"""``dovetail.utils``: what does not belong to tensors or operators themselves."""

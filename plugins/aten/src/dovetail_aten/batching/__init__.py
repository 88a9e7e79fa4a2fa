"""Batching rules: one per base operator, which calls it on a batch of samples. Imported at
the first `vmap`.

May import `composites` and what lies below.
"""

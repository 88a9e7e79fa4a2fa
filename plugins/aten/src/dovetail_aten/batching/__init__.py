"""Batching rules: one per base operator, which calls it on a batch of samples. Imported at
the first `vmap`. Rules of one family lie in its folder; here are those that several share.

May import `composites` and what lies below.
"""

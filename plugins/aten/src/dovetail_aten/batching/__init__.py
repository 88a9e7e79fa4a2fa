"""How the base operators work on a batch of samples: one batching rule per operator. Imported at
the first `vmap`.

May import `composites` and what lies below.
"""

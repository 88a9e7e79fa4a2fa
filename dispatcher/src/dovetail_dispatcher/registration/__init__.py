"""The authors' API: `Library`, `custom_op`, the ``register_*`` functions, batching rules, autocast,
and their checks.

May import `calls` and what lies below.
"""

"""What authors of operators use: `Library`, `custom_op`, the ``register_*`` functions, and their
checks.

May import `calls` and what lies below.
"""

"""Two array namespaces as backends, for running the base library's tests on them: device ``jax``,
whose arrays cannot be written, and ``strict``, whose functions are those of the array API standard.
"""

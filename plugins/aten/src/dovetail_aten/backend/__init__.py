"""Makes a backend out of an array namespace: arrays, generators, registration, fallback.

May import `kernel_support`.
"""

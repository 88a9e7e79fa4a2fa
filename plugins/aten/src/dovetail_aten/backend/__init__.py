"""What stands between the array kernels and a backend: arrays of a namespace, generators,
registration, fallback.

May import `array_kernels`.
"""

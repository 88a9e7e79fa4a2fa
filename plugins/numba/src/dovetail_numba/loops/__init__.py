"""The loops that are compiled: Python that Numba understands, over C-contiguous arrays whose shapes
and dtypes have been checked. Imports `machine`, Numba and NumPy.
"""

"""The kernels that stand over the cpu's: each looks at its arguments, and runs a compiled loop or
hands the call on. Imports NumPy, `machine.threads` and what a backend is made with; `loops`, and
with them Numba, when the first loop runs.
"""

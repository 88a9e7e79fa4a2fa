"""Machine code: what compiles functions when they are first called and keeps the result on disk,
and the threads that run them. Imports the kernel of Dovetail; Numba when something is compiled.
"""

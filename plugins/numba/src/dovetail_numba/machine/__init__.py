"""Machine code: what compiles functions when they are first called and keeps the result on disk,
and the threads that run them. Imports the kernel, and the threads of the cpu; Numba when something
is compiled.
"""

"""Threads: pieces of a call's work, and the threads of BLAS."""

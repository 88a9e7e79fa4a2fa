"""The operator table: what is registered for each operator now, and the dispatch table computed
from it.

May import `schema`.
"""

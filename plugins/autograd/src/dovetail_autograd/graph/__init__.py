"""The parts of a graph: nodes and edges, hooks, saved values, views and versions, the grad modes
that govern recording, and the operators that autograd itself calls.

Imports no other room.
"""

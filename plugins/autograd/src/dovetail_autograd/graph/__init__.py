"""What a graph is made of: nodes and edges, hooks, saved values, views, and the grad modes that
govern recording.

Imports no other room.
"""

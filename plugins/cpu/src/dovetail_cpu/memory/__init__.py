"""Memory of arrays: aligned, shared between processes, counted, and borrowed for one call.

May import `parallel`.
"""

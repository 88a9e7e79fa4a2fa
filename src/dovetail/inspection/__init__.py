"""Inspection of graphs, calls and installations: drawings, explanations, traces and checks.

May import `testing`, `func`, `nn` and the packages below; `utils` and `command` show what it does.
"""

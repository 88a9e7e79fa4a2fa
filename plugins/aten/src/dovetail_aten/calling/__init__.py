"""What the generated functions call on their rare paths: the choice among overloads, and results
with names.

Stands below the generated functions; may import the packages below alone.
"""

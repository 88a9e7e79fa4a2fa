"""Text of the functions that users call by name, and NumPy's names for their arguments.

Stands on the dispatcher's templates alone.
"""

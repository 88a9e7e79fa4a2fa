"""Steps of plans: records that say what is done and print themselves.

They know the functions that the text calls, and nothing of operators, keys or layers.
"""

"""Recording calls: routes that make a node, the classes of such nodes, and `Function`.

May import `graph`.
"""

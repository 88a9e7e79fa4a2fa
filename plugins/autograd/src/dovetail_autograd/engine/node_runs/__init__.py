"""Running the nodes of a graph, on arrays or on tensors."""

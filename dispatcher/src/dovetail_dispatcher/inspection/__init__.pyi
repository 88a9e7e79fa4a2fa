from .traces.tracing import record_node as record_node

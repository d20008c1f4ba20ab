"""The listening ports: their descriptors, connections, deadlines and limits, before any request is looked at."""

"""The listening ports: file descriptors, connections, deadlines and limits, before the application."""

"""
From a finished transaction to the collector, in a thread of its own.

exporter: the queue and the thread → otlp (otlp_calls, otlp_span, protobuf): bytes → the collector; json_lines and
one_line: the same for people and files.
"""

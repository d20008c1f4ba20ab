"""
The server's side of HTTP/2 (RFC 9113), as much of it as unary gRPC calls need, on an asyncio protocol.

Header compression is the hpack library's. Why the rest is ours: docs/decisions/018-grpc-server.md.
"""

"""The gRPC port: calls over HTTP/2, by the h2 library. Why not grpcio: docs/decisions/018-grpc-server.md."""

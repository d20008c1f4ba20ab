"""Durable queue on disk between the receivers and the loader."""

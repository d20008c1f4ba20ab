"""Receives what applications send: checks it, writes it to the spool, and only then answers."""

"""Samples of the calls that were kept one by one."""

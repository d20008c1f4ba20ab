"""Statements of MySQL and MariaDB from performance_schema, each once, as rows of slow_queries."""

"""ClickHouse, embedded or as a server, behind one small interface."""

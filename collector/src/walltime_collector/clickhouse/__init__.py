"""ClickHouse, embedded or a server, behind few verbs."""

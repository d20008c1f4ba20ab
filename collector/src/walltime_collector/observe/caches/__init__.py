"""memcached, Redis and Valkey: what their own counters say."""

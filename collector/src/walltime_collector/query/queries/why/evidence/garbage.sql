-- How long did the garbage collector stop them?
WITH
    custom_time_ns['python.gc'] AS one_ns,
-- include why/_compared.sql
-- include why/evidence/_waited.sql

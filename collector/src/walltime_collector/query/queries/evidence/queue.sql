-- How long did they queue before they began?
WITH
    queue_ns AS one_ns,
-- include why/_compared.sql
-- include evidence/_waited.sql

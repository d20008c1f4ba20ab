-- How long did they queue before they began?
WITH
    queue_ns AS one_ns,
-- include why/_compared.sql
-- include why/evidence/_waited.sql

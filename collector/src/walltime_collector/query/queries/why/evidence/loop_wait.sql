-- How long did they wait for the event loop, ready to go on?
WITH
    transactions.loop_wait_ns AS one_ns,
-- include why/_compared.sql
-- include why/evidence/_waited.sql

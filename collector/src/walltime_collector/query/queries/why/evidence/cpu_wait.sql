-- How long did their threads wait for a CPU?
WITH
    transactions.cpu_wait_ns AS one_ns,
-- include why/_compared.sql
-- include why/evidence/_waited.sql

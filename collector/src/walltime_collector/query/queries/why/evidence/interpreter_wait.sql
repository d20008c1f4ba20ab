-- How long did they wait for the interpreter (GIL), by samples of their stacks?
WITH
    arraySum((state, ns) -> if(state = 'gil', ns, 0), sample.state, sample.time_ns) AS one_ns,
-- include why/_compared.sql
-- include why/evidence/_waited.sql

-- Observed servers
-- Which servers the collector asks.
-- include window
    , 'With an account on it: walltime serve --mysql mysql://walltime@10.0.0.5:3306' AS how
-- include observed of=mysql families=('mysql')

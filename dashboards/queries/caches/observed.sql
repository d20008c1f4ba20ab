-- Observed servers
-- Which servers the collector asks.
-- include window
    , 'walltime serve --memcached 10.0.0.7:11211' AS how
-- include observed of=cache families=('memcache','redis')

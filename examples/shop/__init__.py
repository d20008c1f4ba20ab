"""A small shop on MariaDB, two memcached and a supplier: what Walltime is shown with and tested on."""

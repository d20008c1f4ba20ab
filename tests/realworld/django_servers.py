"""Settings of both Django sites: their database and their cache, as the environment names them. Copied beside them."""

import os

import pymysql

pymysql.install_as_MySQLdb()

DATABASE = {
    "ENGINE": "django.db.backends.mysql",
    "NAME": os.environ["DB_NAME"],
    "USER": os.environ["DB_USER"],
    "PASSWORD": os.environ["DB_PASSWORD"],
    "HOST": os.environ["DB_HOST"],
    "PORT": os.environ["DB_PORT"],
    "CONN_MAX_AGE": 600,
}
CACHE = {
    "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
    "LOCATION": os.environ["MEMCACHED"],
    "KEY_PREFIX": os.environ["DB_NAME"],
}

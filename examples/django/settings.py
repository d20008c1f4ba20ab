"""Settings of Django: MySQL by PyMySQL, a cache in memcached."""

import os
from urllib.parse import urlsplit

import pymysql

pymysql.install_as_MySQLdb()  # Django's backend for MySQL imports MySQLdb

MYSQL = urlsplit(os.environ.get("MYSQL_URL", "mysql://shop:shop@127.0.0.1:3306/shop"))
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "HOST": MYSQL.hostname,
        "PORT": MYSQL.port,
        "USER": MYSQL.username,
        "PASSWORD": MYSQL.password,
        "NAME": MYSQL.path[1:],
    }
}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
        "LOCATION": os.environ.get("MEMCACHED", "127.0.0.1:11211"),
    }
}
ROOT_URLCONF = "products"
ALLOWED_HOSTS = ["127.0.0.1"]
SECRET_KEY = "only for an example"

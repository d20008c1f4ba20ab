"""The settings that `coderedcms start` makes, on MariaDB and memcached. Pages are made for each request."""

from django_servers import CACHE, DATABASE

from .base import *  # noqa: F403

SECRET_KEY = "not secret"
DEBUG = False
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": DATABASE}
CACHES = {"default": CACHE}
WAGTAIL_CACHE = False
WAGTAILADMIN_BASE_URL = "http://127.0.0.1"
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

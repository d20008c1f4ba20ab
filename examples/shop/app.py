"""The shop as a WSGI application, with the lines that give it Walltime: `gunicorn shop.app:application`."""

from __future__ import annotations

import walltime

from shop.pages import Pages
from shop.settings import Settings
from shop.store import Store
from shop.web import Router

walltime.configure(service_name="shop")
walltime.instrument()

application = walltime.WSGIMiddleware(Router(Pages(Store(Settings.from_environment())).routes()))

"""Another company's service, which says what to offer a user: `gunicorn shop.supplier:application`."""

from __future__ import annotations

import heapq
import json
import zlib

import walltime

from shop.seed import PRODUCTS
from shop.web import Request, Response, Router

walltime.configure(service_name="supplier")
walltime.instrument()


def suggestions(request: Request) -> Response:
    """Rank the whole catalogue for one user; nothing is stored, so all of it is CPU."""
    user = request.path["user"]
    with walltime.component("rank"):
        best = heapq.nlargest(8, range(1, PRODUCTS + 1), key=lambda product: zlib.crc32(f"{user}:{product}".encode()))
    return Response(json.dumps({"products": best}), content_type="application/json")


application = walltime.WSGIMiddleware(Router({"GET /suggestions/{user}": suggestions}))

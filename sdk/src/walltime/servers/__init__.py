"""
Starts and ends transactions: each server opens one per request, names it by its route, and closes it.

`WSGIMiddleware` and `ASGIMiddleware` serve any application. For the frameworks of the table neither is needed: their
modules here have the shape of the clients', `REQUIRES`, the versions they are tested with, and `patches()`. A request
that meets several of them has one transaction, opened by the outermost, named by the innermost.
"""

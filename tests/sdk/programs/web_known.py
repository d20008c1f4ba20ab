"""The application with our middleware, for servers that do not put it there themselves."""

import walltime
import web  # type: ignore[import-not-found]  # found beside it when it runs

app = walltime.WSGIMiddleware(web.app)

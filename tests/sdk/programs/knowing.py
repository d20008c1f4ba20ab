"""A program that has set Walltime up itself, in code."""

import once_app  # type: ignore[import-not-found]  # found beside it when it runs
import walltime

walltime.configure(sample_probability=1.0)
walltime.instrument()
once_app.app = walltime.WSGIMiddleware(once_app.app)
once_app.main()

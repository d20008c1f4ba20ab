"""A program that serves one request to itself; importing it is running it."""

import once_app  # type: ignore[import-not-found]  # found beside it when it runs

once_app.main()

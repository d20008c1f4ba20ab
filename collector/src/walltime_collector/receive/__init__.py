"""Takes what applications send: check, spool, and only then answer."""

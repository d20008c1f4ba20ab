"""`make bench-why`: what `why` claims about pairs of windows whose truth is known."""

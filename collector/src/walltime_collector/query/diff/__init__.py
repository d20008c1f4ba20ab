"""`diff`: all kinds of two windows, two versions or two conditions, and which changed beyond chance."""

"""Where transactions come from: each server opens one, names it by its route, and closes it."""

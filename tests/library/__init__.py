"""An application that is not the shop: a Flask page with cache-aside on two hosts, and faults that can be seeded."""

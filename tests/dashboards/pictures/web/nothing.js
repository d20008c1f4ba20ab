// In the place of packages that no picture needs.

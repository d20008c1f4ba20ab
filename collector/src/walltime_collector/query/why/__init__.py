"""`why`: two populations of one kind, the exact split of their difference, and the sentences that say what it is."""

"""A fitted gradient as a field: climbing it, its modes, the saddles between them."""

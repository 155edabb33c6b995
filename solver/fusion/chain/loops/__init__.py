"""The inner loops of the searches on a chain; each has a .pxd beside it and is compiled."""

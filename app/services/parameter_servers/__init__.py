"""Training through parameter servers: predicted, tabled and drawn."""

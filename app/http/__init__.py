"""What HTTP is about: protocol, middleware, bodies, preferences, problems, OpenAPI."""

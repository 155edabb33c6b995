"""Write those modules of the client that are made: ``python -m app.write_client`` in a checkout.

The client is a wheel of its own that knows nothing of the service; so what it has of it is written
into it here.
"""

"""Requests and answers on the wire, a resource a module. Nothing else knows pydantic."""

"""The service and the command around the solver."""

VERSION = "0.1.0"

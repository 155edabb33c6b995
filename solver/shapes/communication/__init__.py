"""The data-parallel communication of a shape, planned as that of any graph."""

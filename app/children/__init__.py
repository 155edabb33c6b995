"""Children: processes that a parent starts, hears through a pipe, and may kill at any time."""

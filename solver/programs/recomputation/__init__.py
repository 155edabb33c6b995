"""Values computed again before a late reader, so that they need not be held until then."""

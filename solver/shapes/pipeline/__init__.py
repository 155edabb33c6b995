"""Pipeline schedules: in which order each stage works, and when that ends."""

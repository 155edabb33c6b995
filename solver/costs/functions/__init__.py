"""Time of a launch as a function of its bytes: a line, measured points, a curve."""

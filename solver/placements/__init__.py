"""Parameter servers in a rack: where to put them, and the bandwidth and money that takes."""

"""Plans the communication of data-parallel DNN training: a pure library."""

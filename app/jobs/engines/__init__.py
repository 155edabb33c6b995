"""Where jobs are done: by processes of this machine, or by those of a Dask cluster."""

"""A name that runs a script where a page takes it for markup."""

HOSTILE = "<img src=x onerror=alert(1)>"

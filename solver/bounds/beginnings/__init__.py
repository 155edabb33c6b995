"""Whether collectives can all end in less than a time, by trying every beginning of launches.

Why nothing is left out is in MODEL.md section 5, *tried*. Of the modules that have a .pxd beside
them it gives the types. Without a compiler the same lines run as Python, and give the same figures.
"""

"""Compiled functions over arrays.

They import nothing of covey's, take every array that they fill, and check nothing: their callers
validate and allocate. `jit` holds the compiler's options; `arrays` the shapes they share.
"""

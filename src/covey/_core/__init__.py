"""The compiled inner loops.

`kernels` is built from the C++ sources in this folder; `kernels.pyi` describes it. Kernels know
arrays only (`arrays` has the shapes that they share), release the interpreter's lock, and end when
their `Watch` is stopped. `sources` recognises a module that was built from other sources.
"""

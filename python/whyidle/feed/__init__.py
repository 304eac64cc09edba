"""Parts for the most common remedies of a GPU that waits: batches, token files, copies, checkpoints, loaders.

Each part is a module of its own and needs only PyTorch and NumPy. They are reached as ``whyidle.BucketSampler`` and so
on, and depend on nothing else of whyidle.
"""

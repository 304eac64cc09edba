"""Watching a training program from within: its steps, a short trace, samples, and the verdict at the end.

Nothing in here imports PyTorch; it is looked at once the program has imported it.
"""

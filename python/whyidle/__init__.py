"""Who is the GPU waiting for, what does it cost, and which change proves to fix it?

This package holds the parts of whyidle that need Python. The program itself is the ``whyidle`` command.
"""

__version__ = "0.1.0"

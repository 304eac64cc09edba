"""The extension module: whyidle's commands within this process."""

__version__: str

def run(arguments: list[str]) -> tuple[int, str, str | None, str | None]:
    """Run a command that only reads; its exit status, its data, what is wrong, and what can be done about it."""

# Facts of a machine, as its tools print them.

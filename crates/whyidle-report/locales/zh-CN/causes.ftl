# (pages follow)

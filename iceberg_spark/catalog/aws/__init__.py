"""Catalogs of Amazon's services, on PyIceberg's clients and namespaces; needs extra `pyiceberg`."""

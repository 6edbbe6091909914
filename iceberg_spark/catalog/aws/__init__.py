"""Catalogs of AWS services, on PyIceberg's clients and namespaces; needs the extra `pyiceberg`."""

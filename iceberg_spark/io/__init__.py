"""Files through fsspec: the one place where foreign storage errors are mapped."""

"""Tables as streams: how far a stream has read, and the files or changes that come next."""

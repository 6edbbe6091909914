"""Tables as streams: how far one has read, what comes next, and which files and changes that is."""

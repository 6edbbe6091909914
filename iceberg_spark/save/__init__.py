"""One save: its options, its plan, its commit."""

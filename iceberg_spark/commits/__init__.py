"""Changes as functions of the base metadata, and the only commit loop."""

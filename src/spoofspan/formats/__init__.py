"""Files people have: one module per family of formats."""

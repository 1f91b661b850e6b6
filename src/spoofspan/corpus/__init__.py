"""Partially spoofed corpora: built of recordings, or of built-in voices and vocoders. No torch, no scipy."""

"""Modules of ``triton.language`` that have no part in the language here."""

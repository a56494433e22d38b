"""Modules of ``triton.runtime`` that have no part in launches here."""

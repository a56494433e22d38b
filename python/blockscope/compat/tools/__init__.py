"""Host-side tools, under the names of ``triton.tools``."""

"""The front end: a kernel's Python source as calls of the language, stepped or put into the IR."""

// Placeholder: gives the library one source until its own files are here.

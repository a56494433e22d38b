"""Launches as files: a launch with its kernel, arguments and settings, to be run again elsewhere.

``container`` is the file, ``contents`` what it says, checked. ``functions``, ``snapshot`` and
``recorder`` write one; ``rebuild``, ``memory`` and ``replay`` make a launch of it again.
docs/launch-files.md describes the format.
"""

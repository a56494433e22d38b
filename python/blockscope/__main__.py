"""``python -m blockscope``: the command line."""

import sys

from blockscope.cli import main

sys.exit(main())

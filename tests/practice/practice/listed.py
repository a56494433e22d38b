"""Prints all cases as JSON. usage: python -m practice.listed blockscope|installed"""

from __future__ import annotations

import json
import sys


def main() -> None:
    if sys.argv[1] == "blockscope":
        import blockscope

        blockscope.install_as_triton()
    from practice import cases

    rows = []
    for module in cases.names():
        repository = cases.load(module)
        for case in repository.cases:
            rows.append(
                {
                    "module": module,
                    "repository": repository.name,
                    "commit": repository.commit,
                    "name": case.name,
                    "file": case.file,
                    "kernels": case.kernels,
                    "finds": case.finds,
                }
            )
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()

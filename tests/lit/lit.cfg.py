"""FileCheck tests of the IR tools; `--param build=FOLDER` names the build folder."""

import os

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
build = lit_config.params.get("build", os.path.join(root, "build", "dev"))  # noqa: F821
tools = [os.path.join(build, "bin"), "/usr/lib/llvm-22/bin"]

config.name = "blockscope"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".test"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.test_exec_root = os.path.join(build, "tests", "lit")  # noqa: F821
config.environment["PATH"] = os.pathsep.join([*tools, os.environ["PATH"]])  # noqa: F821
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=all"  # noqa: F821

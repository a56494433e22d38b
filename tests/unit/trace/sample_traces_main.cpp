// blk-sample-trace KIND OUT.h5 [SIZE]: writes a synthetic trace, for the Python tests.
#include "tests/unit/trace/sample_traces.h"

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: blk-sample-trace add|matmul|broken|gather|views OUT.h5 [SIZE]\n");
    return 2;
  }
  const std::string kind = argv[1];
  const std::string path = argv[2];
  const long long size = argc > 3 ? std::atoll(argv[3]) : 0;
  bool good = false;
  if (kind == "add")
    good = blockscope::writeVectorAddTrace(path, size > 0 ? size : 100'000, 1024);
  else if (kind == "matmul")
    good = blockscope::writeMatmulTrace(path, size > 0 ? size : 128);
  else if (kind == "broken")
    good = blockscope::writeBrokenTrace(path);
  else if (kind == "gather")
    good = blockscope::writeGatherTrace(path, size > 0 ? size : 100'000);
  else if (kind == "views")
    good = blockscope::writeViewsTrace(path);
  return good ? 0 : 1;
}

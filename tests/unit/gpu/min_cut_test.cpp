// The labels of least cost, against all labels of small graphs.
#include "gpu_backend/passes/min_cut.h"
#include "tests/unit/gpu/layout_random.h"

#include "gtest/gtest.h"

#include <vector>

namespace blockscope::gpu {
namespace {

struct RandomArc {
  unsigned tail, head;
  int64_t cost;
};

TEST(MinCutTest, FindsTheLeastCost) {
  Random random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const int count = uniform(random, 2, 8);
    MinCut graph;
    std::vector<unsigned> nodes;
    for (int i = 0; i < count; ++i)
      nodes.push_back(graph.add());
    graph.bindFirst(nodes.front());
    graph.bindSecond(nodes.back());
    std::vector<RandomArc> arcs;
    for (int i = uniform(random, 0, 20); i > 0; --i) {
      const auto tail = static_cast<unsigned>(uniform(random, 0, count - 1));
      const auto head = static_cast<unsigned>(uniform(random, 0, count - 1));
      if (tail == head)
        continue;
      arcs.push_back({tail, head, uniform(random, 0, 9)});
      graph.arc(nodes[tail], nodes[head], arcs.back().cost);
    }
    const auto costOf = [&](auto isFirst) {
      int64_t cost = 0;
      for (const RandomArc &arc : arcs)
        if (isFirst(arc.tail) && !isFirst(arc.head))
          cost += arc.cost;
      return cost;
    };
    int64_t least = MinCut::kBound;
    for (unsigned labels = 0; labels < 1u << count; ++labels)
      if ((labels & 1) != 0 && (labels >> (count - 1)) == 0)
        least = std::min(least, costOf([&](unsigned i) { return (labels >> i & 1) != 0; }));
    EXPECT_EQ(graph.solve(), least);
    EXPECT_TRUE(graph.isFirst(nodes.front()));
    EXPECT_FALSE(graph.isFirst(nodes.back()));
    EXPECT_EQ(costOf([&](unsigned i) { return graph.isFirst(nodes[i]); }), least);
  }
}

} // namespace
} // namespace blockscope::gpu

// Random programs: however registers share memory and ops are fused, the results stay the same.
#include "flat_kernel.h"
#include "random_kernel.h"

namespace blockscope::interpreter {
namespace {

constexpr int64_t kLanes = 1024;

std::vector<int32_t> runOnce(const std::string &text, const FlatOptions &options, int32_t n) {
  std::vector<int32_t> out(kLanes, -1);
  FlatKernel kernel(text, options);
  EXPECT_EQ(kernel.error, "") << text;
  kernel.tensor(out).scalar(n);
  EXPECT_TRUE(kernel.run({1, 1, 1}, 1).succeeded());
  return out;
}

TEST(FlatRandomTest, SharingMemoryAndFusingChangeNothing) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const std::string text = RandomKernel(seed).make();
    for (const int32_t n : {0, 1, 3}) {
      // Without sharing every value has a place of its own: nothing can be overwritten.
      const std::vector<int32_t> expected = runOnce(text, {false, false, false, false}, n);
      for (const FlatOptions options : {FlatOptions{},
                                        {false, true, true, true},
                                        {true, false, true, true},
                                        {true, true, false, true}})
        ASSERT_EQ(runOnce(text, options, n), expected) << "seed " << seed << "\n" << text;
    }
  }
}

} // namespace
} // namespace blockscope::interpreter

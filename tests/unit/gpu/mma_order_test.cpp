// Which groups of tiles a dot by mma.sync finishes one after the other.
#include "gpu_backend/lowering/mma_order.h"

#include "gtest/gtest.h"

namespace blockscope::gpu {
namespace {

/// fp8 that is multiplied as fp16: 128x128 by two warps, 128 deep.
MmaProducts wideTileOfTwoWarps() {
  MmaProducts products;
  products.rows = 4, products.columns = 16, products.steps = 4;
  products.a = {8, 16 + 128};
  products.b = {4, 32 + 256};
  products.otherWords = 32;
  return products;
}

TEST(MmaOrderTest, AllTilesAtOnceWhereRegistersSuffice) {
  MmaProducts products = wideTileOfTwoWarps();
  products.columns = 4; // 64 sums
  EXPECT_EQ(mmaOrderOf(products), (MmaOrder{4, 4, false}));
}

TEST(MmaOrderTest, GroupsWhereSumsFillTheRegisters) {
  EXPECT_EQ(mmaOrderOf(wideTileOfTwoWarps()), (MmaOrder{4, 8, true}));
}

TEST(MmaOrderTest, WhatIsInRegistersIsNotMadeAgain) {
  MmaProducts products = wideTileOfTwoWarps();
  products.b.making = 0;
  const MmaOrder order = mmaOrderOf(products);
  EXPECT_EQ(order.columns, products.columns); // as A would be loaded again
  EXPECT_LT(order.rows, products.rows);
}

TEST(MmaOrderTest, OneStepIsOnePass) {
  MmaProducts products = wideTileOfTwoWarps();
  products.steps = 1;
  const MmaOrder order = mmaOrderOf(products);
  EXPECT_EQ(order.rows, products.rows);
  EXPECT_EQ(order.columns, products.columns);
}

TEST(MmaOrderTest, FragmentsThatCostMuchAreNotMadeAgain) {
  MmaProducts products = wideTileOfTwoWarps();
  products.a.making = products.b.making = 10000;
  const MmaOrder order = mmaOrderOf(products);
  EXPECT_EQ(order.rows, products.rows);
  EXPECT_EQ(order.columns, products.columns);
  EXPECT_TRUE(order.holdsA); // fewer registers: four fragments of 8, or 16 of 4
}

} // namespace
} // namespace blockscope::gpu

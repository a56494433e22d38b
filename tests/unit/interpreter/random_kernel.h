// Random kernels, to hold forms of the flat program against one another.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace blockscope::interpreter {

/// Makes random kernels over blocks of i32 and i64, with loops, branches and shape changes, and
/// computes what they store.
class RandomKernel {
public:
  explicit RandomKernel(uint32_t seed) : random_(seed) {}

  std::string make() {
    text_ = "func.func @k(%out: !tl.ptr<i32>, %n: i32) {\n"
            "  %c0 = arith.constant 0 : i32\n  %c1 = arith.constant 1 : i32\n"
            "  %lanes = tl.range 0 to 1024 : tensor<1024xi32>\n"
            "  %n_block = tl.splat %n : i32 -> tensor<1024xi32>\n"
            "  %five = arith.constant dense<5> : tensor<1024xi32>\n";
    values_ = {"%lanes", "%n_block", "%five"};
    body(12, 0);
    text_ += "  %p = tl.splat %out : !tl.ptr<i32> -> tensor<1024x!tl.ptr<i32>>\n";
    // Store everything that is still visible, so that nothing is dead.
    std::string sum = "%lanes";
    for (const std::string &value : values_) {
      const std::string next = fresh();
      text_ += "  " + next + "a = arith.muli " + sum + ", %five : " + kType + "\n";
      text_ += "  " + next + " = arith.addi " + next + "a, " + value + " : " + kType + "\n";
      sum = next;
    }
    text_ += "  %q = tl.addptr %p, %lanes : tensor<1024x!tl.ptr<i32>>, tensor<1024xi32>\n"
             "  tl.store %q, " +
             sum +
             " : tensor<1024x!tl.ptr<i32>>, tensor<1024xi32>\n"
             "  return\n}\n";
    return text_;
  }

private:
  static constexpr const char *kType = "tensor<1024xi32>";

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  std::string fresh() { return "%v" + std::to_string(next_++); }
  const std::string &any() { return values_[pick(static_cast<int>(values_.size()))]; }

  void body(int ops, int depth) {
    for (int i = 0; i < ops; ++i) {
      switch (pick(depth < 2 ? 9 : 6)) {
      case 6:
        loop(depth);
        break;
      case 7:
        branch(depth);
        break;
      case 8:
        reduce();
        break;
      case 5:
        shuffle();
        break;
      default:
        arithmetic();
      }
    }
  }

  void add(const std::string &name, const std::string &op) {
    text_ += "  " + name + " = " + op + "\n";
    values_.push_back(name);
  }

  void arithmetic() {
    static const char *const ops[] = {"addi", "subi", "muli", "xori", "andi", "maxsi"};
    add(fresh(), std::string("arith.") + ops[pick(6)] + " " + any() + ", " + any() + " : " + kType);
  }

  // Ops that are not elementwise: they read whole blocks.
  void shuffle() {
    const std::string name = fresh();
    text_ += "  " + name + "r = tl.reshape " + any() + " : " + kType + " -> tensor<32x32xi32>\n";
    text_ += "  " + name + "t = tl.trans " + name +
             "r [1, 0] : tensor<32x32xi32> -> tensor<32x32xi32>\n";
    add(name, "tl.reshape " + name + "t : tensor<32x32xi32> -> " + kType);
  }

  void reduce() {
    const std::string name = fresh();
    text_ += "  " + name + "r = tl.reshape " + any() + " : " + kType + " -> tensor<32x32xi32>\n";
    text_ += "  " + name + "m = \"tl.reduce\"(" + name + "r) <{axis = " + std::to_string(pick(2)) +
             " : i32}> ({\n  ^bb0(%a: i32, %b: i32):\n    %s = arith.addi %a, %b : i32\n" +
             "    %k = arith.constant 77 : i32\n    %t = arith.xori %s, %k : i32\n" +
             "    tl.yield %t : i32\n  }) : (tensor<32x32xi32>) -> tensor<32xi32>\n";
    const int axis = pick(2);
    text_ += "  " + name + "e = tl.expand_dims " + name + "m axis " + std::to_string(axis) +
             " : tensor<32xi32> -> " + (axis ? "tensor<32x1xi32>" : "tensor<1x32xi32>") + "\n";
    text_ += "  " + name + "b = tl.broadcast " + name +
             "e : " + (axis ? "tensor<32x1xi32>" : "tensor<1x32xi32>") + " -> tensor<32x32xi32>\n";
    add(name, "tl.reshape " + name + "b : tensor<32x32xi32> -> " + kType);
  }

  std::string yields(int count) {
    std::string names, types;
    for (int i = 0; i < count; ++i) {
      names += (i ? ", " : "") + any();
      types += std::string(i ? ", " : "") + kType;
    }
    return "  scf.yield " + names + " : " + types + "\n";
  }

  void loop(int depth) {
    const int count = 1 + pick(4);
    const std::string name = fresh();
    std::string arguments, types;
    const std::vector<std::string> outside = values_;
    std::vector<std::string> carried;
    for (int i = 0; i < count; ++i) {
      const std::string argument = fresh();
      arguments += (i ? ", " : "") + argument + " = " + any();
      types += std::string(i ? ", " : "") + kType;
      carried.push_back(argument);
    }
    text_ += "  " + name + ":" + std::to_string(count) + " = scf.for " + name +
             "i = %c0 to %n step %c1 iter_args(" + arguments + ") -> (" + types + ") : i32 {\n";
    values_.insert(values_.end(), carried.begin(), carried.end());
    add(fresh(), "tl.splat " + name + "i : i32 -> " + kType);
    body(4, depth + 1);
    // Prefer what is new, so that values really flow around.
    values_.erase(values_.begin(), values_.begin() + pick(static_cast<int>(outside.size())));
    text_ += yields(count) + "  }\n";
    values_ = outside;
    for (int i = 0; i < count; ++i)
      values_.push_back(name + "#" + std::to_string(i));
  }

  void branch(int depth) {
    const std::string name = fresh();
    text_ += "  " + name + "c = arith.cmpi slt, %n, %c" + std::to_string(pick(2)) + " : i32\n";
    text_ += "  " + name + ":2 = scf.if " + name + "c -> (" + kType + ", " + kType + ") {\n";
    const std::vector<std::string> outside = values_;
    for (int side = 0; side < 2; ++side) {
      body(3, depth + 1);
      text_ += yields(2) + (side ? "  }\n" : "  } else {\n");
      values_ = outside;
    }
    values_.push_back(name + "#0");
    values_.push_back(name + "#1");
  }

  std::mt19937 random_;
  std::string text_;
  std::vector<std::string> values_;
  int next_ = 0;
};

} // namespace blockscope::interpreter

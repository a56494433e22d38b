// An emitter that computes nothing and remembers what it was asked for.
#pragma once

#include "core/semantic/semantic.h"

#include <string>
#include <vector>

namespace blockscope {

class RecordingEmitter : public Emitter {
public:
  bool isStepping() const override { return false; }

  ValueList emit(const OpRequest &request) override {
    names.push_back(request.name.str());
    lastAttributes = request.attributes;
    ValueList results;
    for (const Type &type : request.resultTypes)
      results.push_back(value(type));
    return results;
  }

  Value intConstant(Type scalarType, int64_t number) override {
    names.push_back("constant " + std::to_string(number));
    return value(scalarType);
  }

  Value floatConstant(Type scalarType, double number) override {
    names.push_back("constant " + std::to_string(number));
    return value(scalarType);
  }

  ValueList reduce(llvm::ArrayRef<Value> operands, int axis, CombineFunction combine) override {
    names.push_back("tl.reduce");
    ValueList results;
    for (const Value &operand : operands) {
      Type type = operand.type;
      type.shape.erase(type.shape.begin() + axis);
      results.push_back(value(type));
    }
    combine(results, results);
    return results;
  }

  ValueList map(llvm::ArrayRef<Value> operands, int64_t, MapFunction) override {
    names.push_back("tl.map");
    return ValueList(operands.begin(), operands.end());
  }

  ValueList scan(llvm::ArrayRef<Value> operands, int, bool, CombineFunction) override {
    names.push_back("tl.scan");
    return ValueList(operands.begin(), operands.end());
  }

  static Value value(const Type &type) { return {type, std::make_shared<int>(0)}; }
  static Value value(DType dtype, llvm::ArrayRef<int64_t> shape = {}) {
    return value(Type::get(dtype, shape));
  }

  std::vector<std::string> names;
  Attributes lastAttributes;
};

} // namespace blockscope

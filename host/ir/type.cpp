// Names and sizes of the IR's types (type.h).
#include "host/ir/type.h"

namespace fettle::ir {

namespace {
constexpr const char* kNames[] = {"bool",  "int8",    "uint8",   "int16",  "int32",
                                  "int64", "float16", "float32", "float64"};
constexpr int kBytes[] = {1, 1, 1, 2, 4, 8, 2, 4, 8};
}  // namespace

int DataType::bytes() const { return kBytes[static_cast<int>(scalar)]; }

std::string to_string(DataType type) {
  std::string text = kNames[static_cast<int>(type.scalar)];
  if (type.lanes > 1) text += "x" + std::to_string(type.lanes);
  return text;
}

bool parse_scalar(const std::string& name, Scalar& out) {
  for (int i = 0; i < 9; ++i) {
    if (name == kNames[i]) {
      out = static_cast<Scalar>(i);
      return true;
    }
  }
  return false;
}

}  // namespace fettle::ir

// Functions that kernels call (helpers.h).
#include "host/backend/opencl_c/helpers.h"

#include "host/backend/opencl_c/types.h"

namespace fettle::backend::opencl_c {

std::string Helpers::half_round(int lanes) {
  const std::string n = lanes_text(lanes), count = std::to_string(lanes), name = "half_round" + n;
  text_[name] = "float" + n + " " + name + "(float" + n + " x) {\n  ushort bits[" + count +
                "];\n  vstore_half" + n + "(x, 0, (half*)bits);\n  return vload_half" + n +
                "(0, (const half*)bits);\n}\n\n";
  return name;
}

std::string Helpers::extreme(const std::string& type, int lanes, bool less) {
  const std::string name = (less ? "min_or_nan_" : "max_or_nan_") + type;
  const std::string first = less ? "a < b" : "a > b", either = lanes > 1 ? " | " : " || ";
  text_[name] = type + " " + name + "(" + type + " a, " + type + " b) {\n  return (" + first +
                either + "a != a) ? a : b;\n}\n\n";
  return name;
}

// One step of Newton's for 1 / b, and what a lacks of quotient * b added once (Markstein,
// "Computation of elementary functions on the IBM RISC System/6000 processor", 1990). Where a step
// overflows, or 1 / b is less than any normal number, it is the plain one.
std::string Helpers::quotient(int lanes) {
  const std::string type = "float" + lanes_text(lanes), name = "quotient" + lanes_text(lanes);
  text_[name] = type + " " + name + "(" + type + " a, " + type + " b) {\n  const " + type +
                " near_one = 1.0f / b;\n  const " + type + " one = fma(fma(-b, near_one, (" + type +
                ")(1.0f)), near_one, near_one);\n  const " + type + " near = a * one;\n  const " +
                type +
                " exact = fma(fma(-b, near, a), one, near);\n  return select(a / b, exact, " +
                "isfinite(exact) & isnormal(near_one));\n}\n\n";
  return name;
}

std::string Helpers::text() const {
  std::string all;
  for (const auto& [name, text] : text_) all += text;
  return all;
}

}  // namespace fettle::backend::opencl_c

// Functions of OpenCL C that kernels call: what the language lacks.
#pragma once

#include <map>
#include <string>

namespace fettle::backend::opencl_c {

// Those that are called. Each call gives the function's name.
class Helpers {
 public:
  // What float16 makes of a float, where it is no type.
  std::string half_round(int lanes);
  // The less, or the greater, of two; what is no number (NaN) stays none. `type`: of a value, as
  // OpenCL C calls it.
  std::string extreme(const std::string& type, int lanes, bool less);
  // a / b of float32, rounded as on any CPU: OpenCL's own may be 2.5 units in the last place off.
  std::string quotient(int lanes);

  void add(const Helpers& others) { text_.insert(others.text_.begin(), others.text_.end()); }
  std::string text() const;

 private:
  std::map<std::string, std::string> text_;  // by name
};

}  // namespace fettle::backend::opencl_c

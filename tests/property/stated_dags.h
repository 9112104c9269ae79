// Compute DAGs as users state them, where types wrap, round and compare in their own way: what a
// reference computes of them is what each back end must.
#pragma once

#include <string>
#include <vector>

namespace fettle::property {

// One input a[64] or a[64, k] of that type and range, and what is computed of it.
struct StatedDag {
  const char *type, *low, *high, *value;
  int k = 0;                  // extent of a reduction axis; 0: none
  const char* then = "s[i]";  // of the sums s
};

inline const std::vector<StatedDag>& stated_dags() {
  static const std::vector<StatedDag> all = {
      {"int8", "0", "127", "a[i, k]", 64, "int32(s[i])"},  // sums wrap
      {"int8", "0", "127", "int16(a[i, k]) * int16(100)", 64, "int32(s[i])"},
      {"int8", "0", "127", "int32(a[i, k]) * 2000000", 64},
      {"uint8", "0", "127", "int32(-a[i])"},
      {"int8", "-128", "-120", "int32(abs(a[i]))"},
      {"int8", "-127", "127", "int32(bits_as_uint8(a[i]))"},
      {"uint8", "0", "255", "int32(a[i] - uint8(200)) + int32(a[i] >> uint8(1))"},
      {"int8", "-128", "127", "int16(a[i]) * int16(300)"},
      {"int8", "-128", "127", "a[i] / int8(7) + a[i] % int8(7)"},  // toward minus infinity
      {"int8", "-128", "127", "int16(a[i]) % int16(7)"},
      {"float32", "-2", "2", "select(bool(a[i]), 1.0, 0.0)"},  // true of a fraction
      {"float32", "-1", "1", "select((a[i] < 0.0) < (a[i] < 0.5), 1.0, 0.0)"},  // false < true
      {"float32", "-1", "1", "select((a[i] < 0.0) <= (a[i] < 0.5), 1.0, 0.0)"},
      {"int8", "-3", "3", "select(bool(a[i]), int32(1), int32(0))"},
      {"int8", "-128", "127", "int32(round(float32(a[i]) / 12.0))"},  // halves to the even one
      {"int8", "-128", "127", "int32(round(float32(a[i]) / float32(a[i] % int8(9) + int8(1))))"},
  };
  return all;
}

// With doubles, which not each device has.
inline const std::vector<StatedDag>& stated_dags_of_doubles() {
  static const std::vector<StatedDag> all = {
      {"float32", "0", "1", "floor(float64(a[i]) * float64(1000000.1))"},
      {"float32", "0", "1", "float64(a[i, k]) * float64(0.1)", 20, "float32(s[i])"},
  };
  return all;
}

inline std::string json_of(const StatedDag& dag) {
  const std::string i = R"(["i", 64])", k = R"(["k", )" + std::to_string(dag.k) + "]";
  const bool real = std::string(dag.type).starts_with("float");
  std::string text = R"({"title": "stated", "stages": [{"name": "a", "role": "input", "type": ")" +
                     std::string(dag.type) + R"(", "axes": [)" + i + (dag.k ? ", " + k : "") +
                     R"(], "fill": {"kind": ")" + (real ? "real" : "int") + R"(", "low": )" +
                     dag.low + R"(, "high": )" + dag.high + R"(, "stream": 1}}, )";
  if (dag.k) {
    text += R"({"name": "s", "axes": [)" + i + R"(], "reduce": [)" + k +
            R"(], "combine": "sum", "value": ")" + dag.value + R"("}, )";
  }
  return text + R"({"name": "o", "role": "output", "axes": [)" + i + R"(], "value": ")" +
         (dag.k ? dag.then : dag.value) + R"("}]})";
}

}  // namespace fettle::property

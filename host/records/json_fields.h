// Reading fields of JSON that someone else may have written: every absent or
// wrong field becomes one Error that names it.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "schemas/wire/result.h"

namespace fettle::records {

using Json = nlohmann::json;

// Copying and writing JSON takes stack for every level: what is nested deeper is not read.
inline constexpr int kJsonDepth = 100;
bool nested_too_deep(const std::string& text);
// Parses; Malformed with the position for broken text.
Result<Json> parse_json(const std::string& text);
// The JSON that `text` is, or the text itself.
Json json_or_text(const std::string& text);
// On one line. Bytes that are no UTF-8 (a board's message may hold any) become U+FFFD.
std::string dump_json(const Json& json);
// JSON has no infinities: they and NaN are the texts "inf", "-inf", "nan", which
// Fields::get reads back.
Json number_json(double value);

// Reads fields of one object; remembers the first thing that was wrong.
class Fields {
 public:
  // `where` names the object in messages: "trial", "outcome".
  Fields(const Json& object, std::string where);
  // Absent fields keep `to` as it is if `required` is false.
  void get(const char* name, std::string& to, bool required = true);
  void get(const char* name, double& to, bool required = true);
  void get(const char* name, bool& to, bool required = true);
  template <typename Integer>
    requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>)
  void get(const char* name, Integer& to, bool required = true) {
    if constexpr (std::is_signed_v<Integer>) {
      std::int64_t wide = to;
      integer(name, wide, std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max(),
              required);
      to = static_cast<Integer>(wide);
    } else {
      std::uint64_t wide = to;
      natural(name, wide, std::numeric_limits<Integer>::max(), required);
      to = static_cast<Integer>(wide);
    }
  }
  // The field itself; null when absent (an error if required).
  const Json* find(const char* name, bool required = true);
  void fail(const char* name, const std::string& what);
  Result<void> done() const;

 private:
  void integer(const char* name, std::int64_t& to, std::int64_t low, std::int64_t high,
               bool required);
  void natural(const char* name, std::uint64_t& to, std::uint64_t high, bool required);
  const Json& object_;
  std::string where_, error_;
};

}  // namespace fettle::records

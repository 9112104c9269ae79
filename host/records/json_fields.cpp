// Field by field out of untrusted JSON.
#include "host/records/json_fields.h"

#include <cmath>

namespace fettle::records {

bool nested_too_deep(const std::string& text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\')
      ++i;  // what it escapes ends no text
    else if (c == '"')
      in_text = !in_text;
    else if (!in_text && (c == '[' || c == '{') && ++depth > kJsonDepth)
      return true;
    else if (!in_text && (c == ']' || c == '}'))
      --depth;
  }
  return false;
}

Result<Json> parse_json(const std::string& text) {
  if (nested_too_deep(text)) {
    return Error{ErrorCode::Malformed,
                 "not valid JSON: nested over " + std::to_string(kJsonDepth) + " deep",
                 {}};
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{
        ErrorCode::Malformed, "not valid JSON at character " + std::to_string(error.byte), {}};
  } catch (const Json::exception& error) {  // a number that no double holds
    return Error{ErrorCode::Malformed, std::string("not valid JSON: ") + error.what(), {}};
  }
}

Json json_or_text(const std::string& text) {
  Result<Json> json = parse_json(text);
  return json ? std::move(*json) : Json(text);
}

std::string dump_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Fields::Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object_.is_object()) error_ = where_ + " is not a JSON object";
}

const Json* Fields::find(const char* name, bool required) {
  if (!error_.empty()) return nullptr;
  const auto at = object_.find(name);
  if (at != object_.end()) return &*at;
  if (required) fail(name, "is missing");
  return nullptr;
}

void Fields::fail(const char* name, const std::string& what) {
  if (error_.empty()) error_ = "field '" + std::string(name) + "' of " + where_ + " " + what;
}

void Fields::get(const char* name, std::string& to, bool required) {
  const Json* value = find(name, required);
  if (value == nullptr) return;
  if (!value->is_string()) return fail(name, "is not a text");
  to = value->get<std::string>();
}

void Fields::get(const char* name, double& to, bool required) {
  const Json* value = find(name, required);
  if (value == nullptr) return;
  if (*value == "nan")
    to = std::numeric_limits<double>::quiet_NaN();
  else if (*value == "inf")
    to = std::numeric_limits<double>::infinity();
  else if (*value == "-inf")
    to = -std::numeric_limits<double>::infinity();
  else if (!value->is_number())
    fail(name, "is not a number");
  else
    to = value->get<double>();
}

void Fields::get(const char* name, bool& to, bool required) {
  const Json* value = find(name, required);
  if (value == nullptr) return;
  if (!value->is_boolean()) return fail(name, "is neither true nor false");
  to = value->get<bool>();
}

void Fields::integer(const char* name, std::int64_t& to, std::int64_t low, std::int64_t high,
                     bool required) {
  const Json* value = find(name, required);
  if (value == nullptr) return;
  if (!value->is_number_integer()) return fail(name, "is not a whole number");
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > static_cast<std::uint64_t>(high)) {
    return fail(name, "is out of range");
  }
  const std::int64_t number = value->get<std::int64_t>();
  if (number < low || number > high) return fail(name, "is out of range");
  to = number;
}

void Fields::natural(const char* name, std::uint64_t& to, std::uint64_t high, bool required) {
  const Json* value = find(name, required);
  if (value == nullptr) return;
  if (!value->is_number_integer()) return fail(name, "is not a whole number");
  if (!value->is_number_unsigned()) return fail(name, "is negative");
  const std::uint64_t number = value->get<std::uint64_t>();
  if (number > high) return fail(name, "is out of range");
  to = number;
}

Result<void> Fields::done() const {
  if (error_.empty()) return {};
  return Error{ErrorCode::Malformed, error_, {}};
}

}  // namespace fettle::records

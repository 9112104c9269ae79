// Reading fields, and mistakes in them (kernel_fields.h).
#include "host/space/own_kernel/kernel_fields.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace fettle::space::kernel_fields {
namespace {

using Json = nlohmann::json;

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

bool is_name(const std::string& text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

void stop(const std::string& where, const std::string& what) { throw KernelMistake{where, what}; }

void known(const Json& json, const std::string& where, const std::set<std::string>& keys) {
  if (!json.is_object()) stop(where, "must be a table");
  for (const auto& [key, value] : json.items()) {
    if (!keys.contains(key)) {
      stop(where + "/" + key, "unknown key \"" + key + "\"; there are: " + listed(keys));
    }
  }
}

std::string string(const Json& json, const std::string& where, const char* key,
                   const std::optional<std::string>& otherwise) {
  const auto found = json.find(key);
  if (found == json.end()) {
    if (!otherwise) stop(where, std::string("\"") + key + "\" is missing");
    return *otherwise;
  }
  if (!found->is_string()) stop(where + "/" + key, std::string(key) + " must be a string");
  return *found;
}

// A number stands for itself.
std::string expression(const Json& value, const std::string& where) {
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  if (!value.is_string()) stop(where, "must be a whole number or an expression in quotes");
  return value;
}
std::string expression(const Json& json, const std::string& where, const char* key,
                       const std::string& otherwise) {
  const auto found = json.find(key);
  return found == json.end() ? otherwise : expression(*found, where + "/" + key);
}

std::vector<std::string> strings(const Json& json, const std::string& where, const char* key,
                                 bool numbers) {
  std::vector<std::string> list;
  const auto found = json.find(key);
  if (found == json.end()) return list;
  const std::string place = where + "/" + key;
  if (!found->is_array()) stop(place, std::string(key) + " must be a list");
  for (const Json& each : *found) {
    const std::string at = place + "/" + std::to_string(list.size());
    if (!numbers && !each.is_string()) stop(at, "must be a string");
    list.push_back(expression(each, at));
  }
  return list;
}

void check_integer(const std::string& where, const std::string& text, const KernelValues& values) {
  if (const auto value = evaluate_integer(text, values); !value) {
    stop(where, value.error().message);
  }
}

}  // namespace fettle::space::kernel_fields

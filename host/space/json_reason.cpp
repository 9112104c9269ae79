#include "host/space/json_reason.h"

#include <string_view>

#include <nlohmann/json.hpp>

namespace fettle::space {

std::string json_reason(const std::exception& error) {
  if (const auto* broken = dynamic_cast<const nlohmann::json::parse_error*>(&error)) {
    return "not valid JSON at character " + std::to_string(broken->byte);
  }
  const std::string_view words = error.what();
  const std::size_t end = words.find("] ");
  const bool named = words.starts_with("[json.exception.") && end != std::string_view::npos;
  return std::string(named ? words.substr(end + 2) : words);
}

}  // namespace fettle::space

// Writing events (event_text.h).
#include "host/web/event_text.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace fettle::web {

std::string event_text(nlohmann::json data) {
  data["unix_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  return data.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace fettle::web

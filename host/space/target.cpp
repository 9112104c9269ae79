// Target: the common part of its text (target.h).
#include "host/space/target.h"

#include <nlohmann/json.hpp>

#include "host/space/json_reason.h"

namespace fettle::space {

Result<Target> Target::parse(const std::string& canonical) {
  try {
    const nlohmann::json json = nlohmann::json::parse(canonical);
    if (!json.is_object()) {
      return Error{ErrorCode::InvalidArgument, "target: wants a JSON object, {\"backend\": …}"};
    }
    Target target;
    target.backend_ = json.at("backend");
    target.threads_ = json.value("threads", 1);
    target.memory_bytes_ = json.value("memory_bytes", std::int64_t{0});
    target.text_ = json.dump();
    if (target.backend_.empty() || target.threads_ < 1 || target.memory_bytes_ < 0) {
      return Error{ErrorCode::InvalidArgument, "target: impossible threads or memory_bytes"};
    }
    return target;
  } catch (const nlohmann::json::exception& e) {
    return Error{ErrorCode::InvalidArgument, "target: " + json_reason(e)};
  }
}

}  // namespace fettle::space

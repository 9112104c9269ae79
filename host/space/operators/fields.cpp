// Reading and checking a workload's fields (fields.h).
#include "host/space/operators/fields.h"

#include <algorithm>

#include "host/space/operators/tail.h"

namespace fettle::space {

namespace {

std::string range_text(std::int64_t low, std::int64_t high) {
  return "from " + std::to_string(low) + " to " + std::to_string(high);
}

bool is_integer_in(const nlohmann::json& value, std::int64_t low, std::int64_t high) {
  return value.is_number_integer() && value.get<double>() >= double(low) &&
         value.get<double>() <= double(high);
}

}  // namespace

void Fields::fail(ErrorCode code, std::string message) {
  auto& slot = code == ErrorCode::Unsupported ? unsupported_ : invalid_;
  if (!slot) slot = Error{code, std::move(message)};
}

void Fields::missing(const char* name) {
  fail(ErrorCode::InvalidArgument, std::string("field \"") + name + "\" is missing");
}

void Fields::integer(const char* name, std::int64_t low, std::int64_t high,
                     std::optional<std::int64_t> fallback) {
  seen_.insert(name);
  auto it = json_.find(name);
  if (it == json_.end()) {
    if (!fallback) return missing(name);
    out_[name] = *fallback;
    return;
  }
  if (!is_integer_in(*it, low, high)) {
    return fail(ErrorCode::InvalidArgument, std::string("field \"") + name + "\" is " + it->dump() +
                                                "; it must be an integer " + range_text(low, high));
  }
  out_[name] = it->get<std::int64_t>();
}

void Fields::number_beside(const char* name, double low, double high, double usual) {
  seen_.insert(name);
  auto it = json_.find(name);
  if (it == json_.end()) return;
  const double value = it->is_number() ? it->get<double>() : -1;
  if (!(value >= low && value <= high)) {
    return fail(ErrorCode::InvalidArgument, std::string("field \"") + name + "\" is " + it->dump() +
                                                "; it must be a number from " +
                                                nlohmann::json(low).dump() + " to " +
                                                nlohmann::json(high).dump());
  }
  if (value != usual) out_[name] = value;
}

void Fields::pair(const char* name, std::int64_t low, std::int64_t high,
                  std::optional<std::int64_t> fallback) {
  seen_.insert(name);
  auto it = json_.find(name);
  if (it == json_.end()) {
    if (!fallback) return missing(name);
    out_[name] = {*fallback, *fallback};
    return;
  }
  const auto good = [&](const nlohmann::json& v) { return is_integer_in(v, low, high); };
  if (good(*it)) {
    out_[name] = {*it, *it};
  } else if (it->is_array() && it->size() == 2 && good((*it)[0]) && good((*it)[1])) {
    out_[name] = *it;
  } else {
    fail(ErrorCode::InvalidArgument, std::string("field \"") + name + "\" is " + it->dump() +
                                         "; it must be two integers " + range_text(low, high));
  }
}

void Fields::list(const char* name, std::size_t shortest, std::size_t longest, std::int64_t low,
                  std::int64_t high, std::optional<std::vector<std::int64_t>> fallback) {
  seen_.insert(name);
  auto it = json_.find(name);
  if (it == json_.end()) {
    if (!fallback) return missing(name);
    out_[name] = *fallback;
    return;
  }
  const auto good = [&](const nlohmann::json& v) { return is_integer_in(v, low, high); };
  if (it->is_array() && it->size() >= shortest && it->size() <= longest &&
      std::all_of(it->begin(), it->end(), good)) {
    out_[name] = *it;
    return;
  }
  fail(ErrorCode::InvalidArgument, std::string("field \"") + name + "\" is " + it->dump() +
                                       "; it must be a list of " + std::to_string(shortest) +
                                       " to " + std::to_string(longest) + " integers " +
                                       range_text(low, high));
}

void Fields::word(const char* name, const std::vector<std::string>& supported,
                  std::optional<std::string> fallback) {
  seen_.insert(name);
  auto it = json_.find(name);
  if (it == json_.end()) {
    if (!fallback) return missing(name);
    out_[name] = *fallback;
    return;
  }
  std::string known;
  for (const std::string& s : supported) {
    if (*it == s) {
      out_[name] = s;
      return;
    }
    known += (known.empty() ? "" : ", ") + s;
  }
  fail(it->is_string() ? ErrorCode::Unsupported : ErrorCode::InvalidArgument,
       std::string("field \"") + name + "\" is " + it->dump() + "; supported: " + known);
}

void Fields::allow_tf32() {
  constexpr const char* kName = "allow_tf32";
  seen_.insert(kName);
  auto it = json_.find(kName);
  if (it == json_.end()) return;
  if (!it->is_boolean()) {
    return fail(ErrorCode::InvalidArgument, std::string("field \"") + kName + "\" is " +
                                                it->dump() + "; it must be true or false");
  }
  if (!it->get<bool>()) return;
  const std::string dtype = out_.value("dtype", "");
  if (dtype != "float32") {
    return fail(ErrorCode::InvalidArgument,
                std::string("field \"") + kName + "\" is of float32, not of " + dtype);
  }
  out_[kName] = true;
}

void Fields::tail() {
  seen_.insert("tail");
  out_["tail"] = nlohmann::json::array();
  auto it = json_.find("tail");
  if (it == json_.end()) return;
  if (!it->is_array()) return fail(ErrorCode::InvalidArgument, "field \"tail\" must be a list");
  const bool quantized = out_.value("dtype", "") == "int8";
  auto steps = parse_tail(*it, quantized);
  if (!steps) return fail(steps.error().code, steps.error().message);
  out_["tail"] = *it;
}

Result<nlohmann::json> Fields::finish(const char* op) {
  // What is not there yet is said first: its other fields may be unknown here.
  if (unsupported_) return std::move(*unsupported_);
  for (auto it = json_.begin(); it != json_.end(); ++it) {
    if (!seen_.count(it.key())) {
      fail(ErrorCode::InvalidArgument, std::string(op) + " has no field \"" + it.key() + "\"");
    }
  }
  if (invalid_) return std::move(*invalid_);
  out_["op"] = op;
  return std::move(out_);
}

}  // namespace fettle::space

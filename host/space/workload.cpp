// Workload: parsing, canonical form, hash and words (workload.h).
#include "host/space/workload.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "host/space/operators/int8_fills.h"
#include "host/space/operators/operator.h"
#include "schemas/wire/content_hash.h"

namespace fettle::space {

Result<Workload> Workload::parse(const nlohmann::json& json) {
  if (!json.is_object()) {
    return Error{ErrorCode::InvalidArgument, "a workload must be a JSON object"};
  }
  auto op = json.find("op");
  if (op == json.end() || !op->is_string()) {
    return Error{ErrorCode::InvalidArgument, "a workload must have a field \"op\""};
  }
  const Operator* found = find_operator(op->get<std::string>());
  if (!found) {
    std::string known;
    for (const std::string& name : operator_names()) known += (known.empty() ? "" : ", ") + name;
    return Error{ErrorCode::Unsupported,
                 "operator " + op->dump() + " is not there yet; supported: " + known};
  }
  auto fields = found->canonical(json);
  if (!fields) return std::move(fields).error();
  Workload w;
  w.op_ = found->name;
  w.fields_ = std::make_shared<const nlohmann::json>(std::move(*fields));
  w.canonical_ = w.fields_->dump();  // nlohmann's objects are sorted by key
  for (const auto& step : w.fields_->at("tail")) w.tail_.push_back(step);
  auto shown = require_outputs(w);
  if (!shown) return std::move(shown).error();
  return w;
}

Result<Workload> Workload::parse(const std::string& canonical) {
  const auto json = nlohmann::json::parse(canonical, nullptr, false);
  if (json.is_discarded()) {
    return Error{ErrorCode::InvalidArgument,
                 "a workload that is not JSON: " + canonical.substr(0, 80)};
  }
  return parse(json);
}

std::string Workload::hash() const {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(canonical_.data());
  return to_hex(content_hash({bytes, canonical_.size()})).substr(0, 16);
}

std::string Workload::title() const {
  std::string s = find_operator(op_)->title(*this);
  if (has("dtype") && word("dtype") != "float32") s += " " + word("dtype");
  for (std::size_t i = 0; i < tail_.size(); ++i) s += (i ? "+" : " +") + tail_[i];
  return s;
}

double Workload::operations() const {
  const Operator* op = find_operator(op_);
  return op->operations(*this) + double(tail_.size()) * op->output_elements(*this);
}

std::int64_t Workload::integer(const char* field) const {
  return fields_->at(field).get<std::int64_t>();
}

std::array<std::int64_t, 2> Workload::pair(const char* field) const {
  const auto& value = fields_->at(field);
  return {value[0].get<std::int64_t>(), value[1].get<std::int64_t>()};
}

std::vector<std::int64_t> Workload::list(const char* field) const {
  return fields_->at(field).get<std::vector<std::int64_t>>();
}

std::string Workload::word(const char* field) const {
  return fields_->at(field).get<std::string>();
}

ir::Scalar Workload::scalar() const {
  ir::Scalar scalar = ir::Scalar::Float32;
  if (has("dtype")) ir::parse_scalar(word("dtype"), scalar);  // a known word: it was checked
  return scalar;
}

bool Workload::has(const char* field) const { return fields_->contains(field); }

bool Workload::has_tail(const char* name) const {
  return std::find(tail_.begin(), tail_.end(), name) != tail_.end();
}

}  // namespace fettle::space

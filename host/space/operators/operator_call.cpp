// OperatorCall: parsing, canonical form and words (operator_call.h).
#include "host/space/operators/operator_call.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "host/space/operators/int8_fills.h"
#include "host/space/operators/operator.h"

namespace fettle::space {

Result<OperatorCall> OperatorCall::parse(const nlohmann::json& json) {
  if (!json.is_object()) {
    return Error{ErrorCode::InvalidArgument, "an operator must be a JSON object"};
  }
  auto op = json.find("op");
  if (op == json.end() || !op->is_string()) {
    return Error{ErrorCode::InvalidArgument, "an operator must have a field \"op\""};
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
  OperatorCall w;
  w.op_ = found->name;
  w.fields_ = std::make_shared<const nlohmann::json>(std::move(*fields));
  w.canonical_ = w.fields_->dump();  // nlohmann's objects are sorted by key
  for (const auto& step : w.fields_->at("tail")) w.tail_.push_back(step);
  auto shown = require_outputs(w);
  if (!shown) return std::move(shown).error();
  return w;
}

std::string OperatorCall::title() const {
  std::string s = find_operator(op_)->title(*this);
  if (has("dtype") && word("dtype") != "float32") s += " " + word("dtype");
  if (has("allow_tf32")) s += " tf32";
  for (std::size_t i = 0; i < tail_.size(); ++i) s += (i ? "+" : " +") + tail_[i];
  return s;
}

double OperatorCall::operations() const {
  const Operator* op = find_operator(op_);
  return op->operations(*this) + double(tail_.size()) * op->output_elements(*this);
}

ComputeDag OperatorCall::dag() const {
  ComputeDag dag = find_operator(op_)->dag(*this);  // parse() made sure that there is one
  dag.allow_tf32 = has("allow_tf32");
  return dag;
}

std::int64_t OperatorCall::integer(const char* field) const {
  return fields_->at(field).get<std::int64_t>();
}

double OperatorCall::number(const char* field, double otherwise) const {
  return fields_->value(field, otherwise);
}

std::array<std::int64_t, 2> OperatorCall::pair(const char* field) const {
  const auto& value = fields_->at(field);
  return {value[0].get<std::int64_t>(), value[1].get<std::int64_t>()};
}

std::vector<std::int64_t> OperatorCall::list(const char* field) const {
  return fields_->at(field).get<std::vector<std::int64_t>>();
}

std::string OperatorCall::word(const char* field) const {
  return fields_->at(field).get<std::string>();
}

ir::Scalar OperatorCall::scalar() const {
  ir::Scalar scalar = ir::Scalar::Float32;
  if (has("dtype")) ir::parse_scalar(word("dtype"), scalar);  // a known word: it was checked
  return scalar;
}

bool OperatorCall::has(const char* field) const { return fields_->contains(field); }

bool OperatorCall::has_tail(const char* name) const {
  return std::find(tail_.begin(), tail_.end(), name) != tail_.end();
}

}  // namespace fettle::space

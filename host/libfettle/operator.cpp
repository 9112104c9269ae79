// Operators as compute DAGs in JSON (fettle/operator.h).
#include "fettle/operator.h"

#include <nlohmann/json.hpp>

namespace fettle {

namespace {

const char* name_of(Type type) {
  switch (type) {
    case Type::Float32:
      return "float32";
    case Type::Float16:
      return "float16";
    case Type::Int8:
      return "int8";
    case Type::Int32:
      return "int32";
  }
  return "";
}

nlohmann::json pairs(const std::vector<Axis>& axes) {
  nlohmann::json list = nlohmann::json::array();
  for (const Axis& axis : axes) list.push_back({axis.name, axis.extent});
  return list;
}

}  // namespace

struct Operator::Parts {
  std::string title;
  nlohmann::json stages = nlohmann::json::array(), tolerance;
  bool allow_tf32 = false;

  Tensor placeholder(const char* role, const std::string& name,
                     const std::vector<std::int64_t>& shape, Type type) {
    std::vector<Axis> axes;
    for (const std::int64_t extent : shape) {
      axes.push_back({"d" + std::to_string(axes.size()), extent});
    }
    stages.push_back({{"name", name}, {"role", role}, {"type", name_of(type)}});
    stages.back()["axes"] = pairs(axes);
    return Tensor(name);
  }

  Tensor computed(const std::string& name, const std::vector<Axis>& axes, const Value& value) {
    stages.push_back({{"name", name}, {"value", value.text()}});
    stages.back()["axes"] = pairs(axes);
    return Tensor(name);
  }

  Tensor reduced(const char* combine, const std::string& name, const std::vector<Axis>& axes,
                 const std::vector<Axis>& over, const Value& value) {
    const Tensor made = computed(name, axes, value);
    stages.back()["reduce"] = pairs(over);
    stages.back()["combine"] = combine;
    return made;
  }
};

Element::Element(std::string tensor, std::string indices)
    : Value(of_text(tensor + "[" + indices + "]")),
      tensor_(std::move(tensor)),
      indices_(std::move(indices)) {}

Value Element::where(const Value& condition) const {
  return of_text(tensor_ + "[" + indices_ + " | " + condition.text() + "]");
}

Operator::Operator(std::string title) : parts_(std::make_unique<Parts>()) {
  parts_->title = std::move(title);
}
Operator::~Operator() = default;
Operator::Operator(const Operator& other) : parts_(std::make_unique<Parts>(*other.parts_)) {}
Operator& Operator::operator=(const Operator& other) {
  *parts_ = *other.parts_;
  return *this;
}

Tensor Operator::input(const std::string& name, const std::vector<std::int64_t>& shape, Type type) {
  return parts_->placeholder("input", name, shape, type);
}
Tensor Operator::constant(const std::string& name, const std::vector<std::int64_t>& shape,
                          Type type) {
  return parts_->placeholder("constant", name, shape, type);
}
Tensor Operator::stage(const std::string& name, const std::vector<Axis>& axes, const Value& value) {
  return parts_->computed(name, axes, value);
}
Tensor Operator::sum(const std::string& name, const std::vector<Axis>& axes,
                     const std::vector<Axis>& reduced, const Value& value) {
  return parts_->reduced("sum", name, axes, reduced, value);
}
Tensor Operator::maximum(const std::string& name, const std::vector<Axis>& axes,
                         const std::vector<Axis>& reduced, const Value& value) {
  return parts_->reduced("max", name, axes, reduced, value);
}
Tensor Operator::minimum(const std::string& name, const std::vector<Axis>& axes,
                         const std::vector<Axis>& reduced, const Value& value) {
  return parts_->reduced("min", name, axes, reduced, value);
}
void Operator::output(const std::string& name, const std::vector<Axis>& axes, const Value& value) {
  (void)parts_->computed(name, axes, value);
  parts_->stages.back()["role"] = "output";
}
void Operator::tolerance(double absolute, double relative) {
  parts_->tolerance = {{"absolute", absolute}, {"relative", relative}};
}
void Operator::allow_tf32() { parts_->allow_tf32 = true; }

const std::string& Operator::title() const { return parts_->title; }

std::string Operator::json() const {
  nlohmann::json all{{"title", parts_->title}, {"stages", parts_->stages}};
  if (!parts_->tolerance.is_null()) all["tolerance"] = parts_->tolerance;
  if (parts_->allow_tf32) all["allow_tf32"] = true;
  // A title may hold bytes that are no UTF-8.
  return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace fettle

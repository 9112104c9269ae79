// Compute DAGs to and from JSON (dag_json.h).
#include "host/space/dag_text/dag_json.h"

#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "host/ir/visit.h"
#include "host/space/dag_text/dag_check.h"
#include "host/space/dag_text/expression_parser.h"
#include "host/space/dag_text/expression_printer.h"
#include "host/space/operators/activations.h"
#include "host/space/operators/stages.h"

namespace fettle::space {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 1000;  // of an expression's tree

const std::map<ir::Role, const char*> kRoles = {
    {ir::Role::Input, "input"}, {ir::Role::Constant, "constant"}, {ir::Role::Output, "output"}};
const std::map<Combiner, const char*> kCombiners = {
    {Combiner::Sum, "sum"}, {Combiner::Max, "max"}, {Combiner::Min, "min"}};
const std::map<ir::Fill::Kind, const char*> kFills = {{ir::Fill::Kind::Zero, "zero"},
                                                      {ir::Fill::Kind::UniformReal, "real"},
                                                      {ir::Fill::Kind::UniformInt, "int"}};

// What the parts of a DAG are called in its text.
class Names {
 public:
  Names(const ComputeDag& dag, bool own) {
    for (std::size_t i = 0; i < dag.stages.size(); ++i) {
      const Stage& stage = dag.stages[i];
      text.tensors[stage.buffer] = own ? stage.name : "s" + std::to_string(i);
      std::size_t number = 0;
      for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
        for (const Axis& axis : *axes) {
          text.axes[axis.var] = own ? axis.name : "a" + std::to_string(number++);
        }
      }
    }
  }
  ExpressionNames text;
};

Json axes_json(const std::vector<Axis>& axes, const ExpressionNames& names) {
  Json list = Json::array();
  for (const Axis& axis : axes) list.push_back({names.axes.at(axis.var), axis.extent});
  return list;
}

Result<Json> stage_json(const Stage& stage, const ExpressionNames& names) {
  Json json = {{"name", names.tensors.at(stage.buffer)},
               {"axes", axes_json(stage.axes, names)},
               {"type", ir::to_string(stage.buffer->type)}};
  if (const auto role = kRoles.find(stage.role); role != kRoles.end()) json["role"] = role->second;
  if (stage.placeholder()) {
    json["fill"] = {{"kind", kFills.at(stage.fill.kind)}};
    if (stage.fill.kind != ir::Fill::Kind::Zero) {
      json["fill"]["low"] = stage.fill.low;
      json["fill"]["high"] = stage.fill.high;
      json["fill"]["stream"] = stage.fill.stream;
    }
    return json;
  }
  auto body = print_expression(stage.body, names);
  if (!body) return std::move(body).error().in("stage " + stage.name);
  if (!body->lets.empty()) json["let"] = body->lets;
  json["value"] = body->value;
  if (!stage.reduce_axes.empty()) {
    json["reduce"] = axes_json(stage.reduce_axes, names);
    json["combine"] = kCombiners.at(stage.combiner);
  }
  if (stage.store_at.empty()) return json;
  json["shape"] = stage.buffer->shape;
  json["store_at"] = Json::array();
  for (const ir::Expr& index : stage.store_at) {
    auto text = print_index(index, names);
    if (!text) return std::move(text).error().in("stage " + stage.name);
    json["store_at"].push_back(std::move(*text));
  }
  return json;
}

Result<Json> dag_json(const ComputeDag& dag, bool own_names) {
  const Names names(dag, own_names);
  Json json = {{"stages", Json::array()}};
  for (const Stage& stage : dag.stages) {
    auto one = stage_json(stage, names.text);
    if (!one) return one;
    json["stages"].push_back(std::move(*one));
  }
  if (dag.tolerance) {
    json["tolerance"] = {{"absolute", dag.tolerance->absolute},
                         {"relative", dag.tolerance->relative}};
  }
  if (dag.tail_error > 0) json["tail_error"] = dag.tail_error;
  if (dag.allow_tf32) json["allow_tf32"] = true;
  return json;
}

Error bad(const std::string& what) { return Error{ErrorCode::InvalidArgument, what}; }

// Fields that nobody reads are mistakes.
Result<void> known_fields(const Json& json, const std::set<std::string>& known,
                          const std::string& where) {
  for (const auto& [key, value] : json.items()) {
    if (known.count(key)) continue;
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    return bad(where + " has no field \"" + key + "\"; it has: " + names);
  }
  return {};
}

template <typename Value>
Result<Value> word(const Json& json, const char* field, const std::map<Value, const char*>& words,
                   Value fallback) {
  const auto found = json.find(field);
  if (found == json.end()) return fallback;
  std::string known;
  for (const auto& [value, name] : words) {
    if (*found == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return bad(std::string("field \"") + field + "\" is " + found->dump() +
             "; it is one of: " + known);
}

Result<std::vector<Axis>> axes_of(const Json& json, const char* field) {
  std::vector<Axis> axes;
  const auto found = json.find(field);
  if (found == json.end()) return axes;
  const Error form = bad(std::string("field \"") + field + "\" must be [[\"name\", extent], …]");
  if (!found->is_array()) return form;
  for (const Json& axis : *found) {
    if (!axis.is_array() || axis.size() != 2 || !axis[0].is_string() ||
        !axis[1].is_number_integer()) {
      return form;
    }
    axes.push_back(make_axis(axis[0], axis[1]));
  }
  return axes;
}

Result<ir::Fill> fill_of(const Json& json) {
  if (!json.is_object()) return bad("field \"fill\" must be an object");
  if (auto known = known_fields(json, {"kind", "low", "high", "stream"}, "a fill"); !known) {
    return std::move(known).error();
  }
  auto kind = word<ir::Fill::Kind>(json, "kind", kFills, ir::Fill::Kind::UniformReal);
  if (!kind) return std::move(kind).error();
  ir::Fill fill{*kind};
  if (fill.kind == ir::Fill::Kind::Zero) return fill;
  for (const char* field : {"low", "high"}) {
    if (!json.contains(field) || !json[field].is_number()) {
      return bad(std::string("a fill must have a number \"") + field + "\"");
    }
  }
  fill.low = json["low"], fill.high = json["high"];
  if (const auto stream = json.find("stream"); stream != json.end()) {
    if (!stream->is_number_unsigned()) return bad("a fill's stream must be a whole number");
    fill.stream = *stream;
  }
  return fill;
}

class Reader {
 public:
  Result<ComputeDag> read(const Json& json) {
    if (!json.is_object() || !json.contains("stages") || !json["stages"].is_array()) {
      return bad("a DAG must be an object with a list \"stages\"");
    }
    if (auto known =
            known_fields(json, {"stages", "tolerance", "tail_error", "allow_tf32"}, "a DAG");
        !known) {
      return std::move(known).error();
    }
    for (const Json& stage : json["stages"]) {
      const bool named = stage.is_object() && stage.contains("name") && stage["name"].is_string();
      if (!named) return bad("each stage must be an object with a \"name\"");
      const std::string name = stage["name"];
      if (auto added = add(name, stage); !added) {
        return std::move(added).error().in("stage \"" + name + "\"");
      }
    }
    if (auto read = read_tolerance(json); !read) return std::move(read).error();
    if (const auto field = json.find("allow_tf32"); field != json.end()) {
      if (!field->is_boolean()) return bad("field \"allow_tf32\" must be true or false");
      dag_.allow_tf32 = *field;
    }
    if (auto sound = check_dag(dag_); !sound) return std::move(sound).error();
    fill_the_rest();
    return std::move(dag_);
  }

 private:
  Result<void> add(const std::string& name, const Json& json) {
    static const std::set<std::string> known = {"name",    "axes",     "role", "type",
                                                "fill",    "value",    "let",  "reduce",
                                                "combine", "store_at", "shape"};
    if (auto fields = known_fields(json, known, "a stage"); !fields) return fields;
    auto axes = axes_of(json, "axes");
    if (!axes) return std::move(axes).error();
    auto role = word<ir::Role>(json, "role", kRoles, ir::Role::Scratch);
    if (!role) return std::move(role).error();
    std::optional<ir::DataType> type;
    if (const auto field = json.find("type"); field != json.end()) {
      ir::Scalar scalar;
      if (!field->is_string() || !ir::parse_scalar(*field, scalar)) {
        return bad("field \"type\" is " + field->dump() + ", which is no type");
      }
      type = ir::DataType{scalar, 1};
    }
    Result<Stage> stage = json.contains("value") ? computed(name, json, std::move(*axes))
                                                 : placeholder(name, json, std::move(*axes), type);
    if (!stage) return std::move(stage).error();
    stage->role = *role;
    if (type && stage->buffer->type != *type) {
      return bad("field \"type\" is " + ir::to_string(*type) + ", its value is " +
                 ir::to_string(stage->buffer->type));
    }
    scope_.tensors[name] = stage->buffer;
    dag_.stages.push_back(std::move(*stage));
    return {};
  }

  Result<Stage> placeholder(const std::string& name, const Json& json, std::vector<Axis> axes,
                            std::optional<ir::DataType> type) {
    for (const char* field : {"let", "reduce", "combine", "store_at", "shape"}) {
      if (json.contains(field)) return bad(std::string("field \"") + field + "\" without a value");
    }
    Stage stage;
    ir::BufferDecl decl{name, type.value_or(ir::kFloat32), {}};
    for (const Axis& axis : axes) decl.shape.push_back(axis.extent);
    stage.name = name;
    stage.buffer = std::make_shared<const ir::BufferDecl>(std::move(decl));
    stage.axes = std::move(axes);
    const ir::Scalar scalar = stage.buffer->type.scalar;
    if (scalar != ir::Scalar::Float32 && scalar != ir::Scalar::Float16 &&
        scalar != ir::Scalar::Int8 && scalar != ir::Scalar::UInt8 && scalar != ir::Scalar::Int32 &&
        scalar != ir::Scalar::Int64) {
      return Error{ErrorCode::Unsupported, "inputs of type " + ir::to_string(stage.buffer->type)};
    }
    if (!json.contains("fill")) {
      unfilled_.push_back(dag_.stages.size());
      return stage;
    }
    auto fill = fill_of(json["fill"]);
    if (!fill) return std::move(fill).error();
    const bool integers = fill->kind == ir::Fill::Kind::UniformInt;
    if (fill->kind != ir::Fill::Kind::Zero && integers == stage.buffer->type.is_float()) {
      return bad("a fill of another kind than its type");
    }
    stage.fill = *fill;
    return stage;
  }

  Result<Stage> computed(const std::string& name, const Json& json, std::vector<Axis> axes) {
    if (json.contains("fill")) return bad("a stage with a value is not filled");
    auto reduce = axes_of(json, "reduce");
    if (!reduce) return std::move(reduce).error();
    auto combiner = word<Combiner>(json, "combine", kCombiners, Combiner::Sum);
    if (!combiner) return std::move(combiner).error();
    scope_.values.clear();
    for (const auto* list : {&axes, &*reduce}) {
      for (const Axis& axis : *list) scope_.values[axis.name] = ir::var_ref(axis.var);
    }
    const auto of_axes = scope_.values;
    if (const auto lets = json.find("let"); lets != json.end()) {
      const Error form = bad("field \"let\" must be [[\"name\", \"expression\"], …]");
      if (!lets->is_array()) return form;
      for (const Json& part : *lets) {
        if (!part.is_array() || part.size() != 2 || !part[0].is_string() || !part[1].is_string()) {
          return form;
        }
        auto value = expression(part[1]);
        if (!value) return std::move(value).error().in("part " + part[0].dump());
        if (!scope_.values.emplace(part[0], std::move(*value)).second) {
          return bad("part " + part[0].dump() + " is there twice, or an axis");
        }
      }
    }
    if (!json["value"].is_string()) return bad("field \"value\" must be a string");
    auto body = expression(json["value"]);
    if (!body) return std::move(body).error();
    Stage stage =
        make_stage(name, std::move(axes), std::move(*reduce), std::move(*body), *combiner);
    scope_.values = of_axes;
    return json.contains("store_at") ? stored(std::move(stage), json) : std::move(stage);
  }

  Result<Stage> stored(Stage stage, const Json& json) {
    const Json &places = json["store_at"], shape = json.value("shape", Json());
    const Error form = bad("\"store_at\" must be a list of indices, \"shape\" one of extents");
    if (!places.is_array() || !shape.is_array() || shape.empty()) return form;
    ir::BufferDecl decl{stage.name, stage.buffer->type, {}};
    for (const Json& extent : shape) {
      if (!extent.is_number_integer() || extent < 1) return form;
      decl.shape.push_back(extent);
    }
    stage.buffer = std::make_shared<const ir::BufferDecl>(std::move(decl));
    for (const Json& place : places) {
      if (!place.is_string()) return form;
      auto index = expression(place);
      if (!index) return std::move(index).error();
      if ((*index)->type != ir::kInt32) return bad("a place that is not int32");
      stage.store_at.push_back(std::move(*index));
    }
    return stage;
  }

  Result<ir::Expr> expression(const std::string& text) {
    auto parsed = parse_expression(text, scope_);
    if (!parsed) return std::move(parsed).error();
    approximates_ |= parsed->approximates;
    if (depth_of(parsed->value) > kDeepest) return bad("an expression is nested too deeply");
    return std::move(parsed->value);
  }

  // Of the tree, through parts that were defined before: whoever walks it recurses.
  int depth_of(const ir::Expr& e) {
    if (const auto known = depths_.find(e); known != depths_.end()) return known->second;
    int deepest = 0;
    ir::for_each_child(
        e, [&](const ir::Expr& child) { deepest = std::max(deepest, depth_of(child)); });
    return depths_[e] = deepest + 1;
  }

  Result<void> read_tolerance(const Json& json) {
    if (const auto field = json.find("tolerance"); field != json.end()) {
      const auto number = [&](const char* name) {
        return field->is_object() && field->contains(name) && (*field)[name].is_number() &&
               (*field)[name] >= 0;
      };
      if (!number("absolute") || !number("relative") || field->size() != 2) {
        return bad("field \"tolerance\" must have two numbers, \"absolute\" and \"relative\"");
      }
      dag_.tolerance = Tolerance{(*field)["absolute"], (*field)["relative"]};
    }
    dag_.tail_error = approximates_ ? kActivationError : 0;
    if (const auto field = json.find("tail_error"); field != json.end()) {
      if (!field->is_number() || *field < 0) return bad("field \"tail_error\" must be a number");
      dag_.tail_error = *field;
    }
    return {};
  }

  // Values of O(1), of O(1 / sqrt(K)) for what a sum of K products takes from a constant or
  // from a second input, so that the sums are of O(1).
  void fill_the_rest() {
    std::uint64_t stream = 1;
    for (const std::size_t i : unfilled_) {
      Stage& stage = dag_.stages[i];
      double scale = 1;
      for (const Stage& reader : dag_.stages) {
        if (reader.placeholder() || !factor_from(reader, stage.buffer)) continue;
        double length = 1;
        for (const Axis& axis : reader.reduce_axes) length *= double(axis.extent);
        if (i > 0) scale = 1 / std::sqrt(length);
      }
      while (taken(stream)) ++stream;
      stage.fill = stage.buffer->type.is_float()
                       ? ir::Fill{ir::Fill::Kind::UniformReal, 0.25 * scale, scale, stream}
                       : ir::Fill{ir::Fill::Kind::UniformInt,
                                  stage.buffer->type.scalar == ir::Scalar::UInt8 ? 0.0 : -127.0,
                                  127, stream};
      ++stream;
    }
  }

  bool taken(std::uint64_t stream) const {
    for (std::size_t i = 0; i < dag_.stages.size(); ++i) {
      const bool filled = std::find(unfilled_.begin(), unfilled_.end(), i) == unfilled_.end();
      if (dag_.stages[i].placeholder() && filled && dag_.stages[i].fill.stream == stream)
        return true;
    }
    return false;
  }

  ComputeDag dag_;
  ExpressionScope scope_;
  std::vector<std::size_t> unfilled_;
  std::map<ir::Expr, int> depths_;
  bool approximates_ = false;
};

}  // namespace

Result<ComputeDag> dag_of(const Json& json) { return Reader().read(json); }

Result<Json> json_of(const ComputeDag& dag) { return dag_json(dag, true); }

Result<Json> structure_of(const ComputeDag& dag) { return dag_json(dag, false); }

}  // namespace fettle::space

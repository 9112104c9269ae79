// What an operator of a network is: its stages. From them follow its outputs' types, its value by
// the reference, and the compute DAG of the piece that it becomes part of. A row each, in
// registry.cpp; names and meanings are ONNX's, of opset 17, with parameters as attributes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/model/graph/graph.h"
#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// An operator's inputs as stages, and where its own go.
class NodeCall {
 public:
  // An input that is not there is null. All are seen, not owned.
  NodeCall(const nlohmann::json& attributes, std::vector<const space::Stage*> inputs,
           std::vector<TensorType> types, std::vector<space::Stage>& stages)
      : attributes_(attributes),
        inputs_(std::move(inputs)),
        types_(std::move(types)),
        stages_(stages) {}

  // Attributes; all are there.
  std::int64_t integer(const char* name) const { return attributes_.at(name); }
  double number(const char* name) const { return attributes_.at(name); }
  std::vector<std::int64_t> list(const char* name) const { return attributes_.at(name); }
  std::string word(const char* name) const { return attributes_.at(name); }
  const nlohmann::json& attributes() const { return attributes_; }

  std::size_t inputs() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i]; }
  const space::Stage& input(std::size_t i) const { return *inputs_[i]; }
  const std::vector<std::int64_t>& shape(std::size_t i) const { return types_[i].shape; }
  ir::Scalar scalar(std::size_t i) const { return types_[i].scalar; }

  // Appends a stage; its name is made unique. Conditions are uint8 in memory, 0 or 1, and read as
  // conditions again (call.h).
  space::Stage add(const std::string& name, std::vector<space::Axis> axes,
                   std::vector<space::Axis> reduced, ir::Expr body,
                   space::Combiner combiner = space::Combiner::Sum) const;
  // One whose value at its axes is stored at `places` of a buffer of `shape`, each place once.
  space::Stage add_at(const std::string& name, std::vector<space::Axis> axes, ir::Expr body,
                      const std::vector<std::int64_t>& shape, std::vector<ir::Expr> places,
                      std::vector<space::Axis> reduced = {}) const;
  // So many elements of the input, or products of them, are summed up: a task's copy of it holds
  // numbers so small that the sums are about 1, as space/tolerance.h takes them to be.
  void sums_up(std::size_t input, std::int64_t terms) const;
  // The input names places of an axis of `extent`: a task's copy of it holds such, not any numbers.
  void names_places(std::size_t input, std::int64_t extent) const;
  // Whether the last stage that was added has conditions as values.
  bool made_conditions() const { return conditions_; }

 private:
  space::Stage* placeholder(std::size_t input) const;

  const nlohmann::json& attributes_;
  std::vector<const space::Stage*> inputs_;
  std::vector<TensorType> types_;
  std::vector<space::Stage>& stages_;
  mutable bool conditions_ = false;
};

// An output: its stage has at least one axis, though its shape may have none.
struct Written {
  space::Stage stage;
  std::vector<std::int64_t> shape;
};
Written written(space::Stage stage);  // its shape is that of its buffer

// What an operator computes with, beside what its writer says. Small types are computed in wider
// ones (call.h): alike is what is one type then.
enum class Takes {
  Anything,
  Floats,    // float16 or float32 each: what is computed with constants of float32
  Alike,     // all inputs
  Same,      // all inputs, of one type as they are
  AChoice,   // bool, and two of one type
  AnyFloat,  // float64 too: without such constants
};

struct Operator {
  const char* name;
  std::size_t least_inputs, most_inputs;
  // Appends stages, the output the last one; one output. Unsupported, InvalidArgument.
  Result<Written> (*write)(const NodeCall& call);
  // Of one that moves nothing: the same elements in the same order, with this shape. Exactly one of
  // the two is there.
  Result<std::vector<std::int64_t>> (*view)(const NodeCall& call);
  Takes takes = Takes::Anything;
};

const Operator* find_operator(const std::string& name);  // null: none

// Rows by family.
std::span<const Operator> elementwise_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> gather_operators();
std::span<const Operator> grid_sample_operators();
std::span<const Operator> scatter_operators();
std::span<const Operator> movement_operators();
std::span<const Operator> product_operators();
std::span<const Operator> quantized_operators();
std::span<const Operator> ranking_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> resample_operators();
std::span<const Operator> transposed_convolution_operators();
std::span<const Operator> view_operators();
std::span<const Operator> window_operators();

}  // namespace fettle::model

// Operator: what a user's kernel computes, stated as stages. fettle tunes it as it tunes its own.
//
//   Operator op("dense 256 to 128 with swish");
//   Tensor x = op.input("x", {16, 256}), w = op.constant("w", {256, 128});
//   Tensor sums = op.sum("sums", {n, m}, {k}, x(n, k) * w(k, m));
//   op.output("y", {n, m}, swish(sums(n, m)));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fettle/expression.h"

namespace fettle {

enum class Type { Float32, Float16, Int8, Int32 };

// An element of a tensor.
class Element : public Value {
 public:
  Element(std::string tensor, std::string indices);
  // The element where the condition holds, else 0; it need not exist there.
  Value where(const Value& condition) const;

 private:
  std::string tensor_, indices_;
};

class Tensor {
 public:
  explicit Tensor(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  // As many indices as the tensor has axes.
  template <typename... Index>
  Element operator()(const Index&... indices) const {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + Value(indices).text()), ...);
    return {name_, text};
  }

 private:
  std::string name_;
};

// Stages in the order they are stated: each reads those before it. Names are letters, digits and
// '_', each once. What is stated wrong is found when the operator is tuned.
class Operator {
 public:
  // For people: in tables, records and plots. Equal operators are one task whatever their titles.
  explicit Operator(std::string title);
  ~Operator();
  Operator(const Operator&);
  Operator& operator=(const Operator&);

  Tensor input(const std::string& name, const std::vector<std::int64_t>& shape,
               Type type = Type::Float32);
  // Known when a program is loaded, such as weights: schedules may pack it then, once.
  Tensor constant(const std::string& name, const std::vector<std::int64_t>& shape,
                  Type type = Type::Float32);
  Tensor stage(const std::string& name, const std::vector<Axis>& axes, const Value& value);
  // `value` over all of `reduced`: its sum, which begins at 0, its maximum or its minimum.
  Tensor sum(const std::string& name, const std::vector<Axis>& axes,
             const std::vector<Axis>& reduced, const Value& value);
  Tensor maximum(const std::string& name, const std::vector<Axis>& axes,
                 const std::vector<Axis>& reduced, const Value& value);
  Tensor minimum(const std::string& name, const std::vector<Axis>& axes,
                 const std::vector<Axis>& reduced, const Value& value);
  // The last stage, once.
  void output(const std::string& name, const std::vector<Axis>& axes, const Value& value);
  // What an output may be off: |actual - expected| <= absolute + relative * |expected|. Not told:
  // fettle says it from the longest sum.
  void tolerance(double absolute, double relative);
  // Products of float32 may be of factors rounded to TF32 (10 bits of fraction), where a device
  // multiplies those faster. Without it they never are.
  void allow_tf32();

  const std::string& title() const;
  // The compute DAG, as `fettle tune FILE.json` takes it.
  std::string json() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fettle

// LSTM, GRU and RNN: their steps one after the other, as products and functions of rows. Sequences
// have one length, known before the network runs.
#include <algorithm>
#include <cctype>

#include "host/model/onnx/readers.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

constexpr std::int64_t kMostSteps = 512;

// Thrown and caught here alone: a step that cannot be made.
struct Refused {
  Error error;
};

class Recurrence {
 public:
  Recurrence(const NodeReader& node, std::int64_t gates) : node_(node), gates_(gates) {
    const List x = node.shape(0), w = node.shape(1), r = node.shape(2);
    if (x.size() != 3 || w.size() != 3 || r.size() != 3) {
      throw Refused{node.invalid("its input or weights have another rank")};
    }
    steps_ = x[0], batch_ = x[1], inputs_ = x[2], hidden_ = r[2];
    const std::string way = node.word("direction", "forward");
    if (way != "forward" && way != "reverse" && way != "bidirectional") {
      throw Refused{node.invalid("its direction is '" + way + "'")};
    }
    ways_ = way == "bidirectional" ? std::vector{false, true} : std::vector{way == "reverse"};
    const auto count = static_cast<std::int64_t>(ways_.size());
    if (w != List{count, gates_ * hidden_, inputs_} ||
        r != List{count, gates_ * hidden_, hidden_}) {
      throw Refused{node.invalid("its weights do not fit its input")};
    }
    if (node.has_input(3) && node.shape(3) != List{count, 2 * gates_ * hidden_}) {
      throw Refused{node.invalid("its bias does not fit its weights")};
    }
    for (const std::size_t state : {5, 6}) {
      if (node.has_input(state) && node.shape(state) != List{count, batch_, hidden_}) {
        throw Refused{node.invalid("its first state does not fit its weights")};
      }
    }
    refuse_options();
  }

  // Those of a way, one after the other, in lower case; what the operator has without them counts.
  // Unsupported: others.
  void check_activations(const std::vector<std::string>& known) const {
    const auto* given = node_.attribute("activations");
    for (int i = 0; given && i < given->strings_size(); ++i) {
      const std::string name = lower_case(given->strings(i));
      if (name != known[static_cast<std::size_t>(i) % known.size()]) {
        throw Refused{node_.unsupported("the activation " + given->strings(i))};
      }
    }
  }
  static std::string lower_case(std::string word) {
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return word;
  }

  // As `step` makes the next state of (x and its bias, state, way).
  template <typename Step>
  Outputs run(std::size_t states, const Step& step) {
    std::vector<std::vector<ValueId>> rows(static_cast<std::size_t>(steps_));
    std::vector<std::vector<ValueId>> last(states);
    for (std::size_t way = 0; way < ways_.size(); ++way) {
      const ValueId x = products_of_input(way);
      std::vector<ValueId> state;
      for (std::size_t s = 0; s < states; ++s) state.push_back(initial(s, way));
      for (std::int64_t i = 0; i < steps_; ++i) {
        const std::int64_t t = ways_[way] ? steps_ - 1 - i : i;
        state = step(reshape(part(x, 0, t, 1), {batch_, gates_ * hidden_}), state, way);
        rows[static_cast<std::size_t>(t)].push_back(reshape(state[0], {1, 1, batch_, hidden_}));
      }
      for (std::size_t s = 0; s < states; ++s) {
        last[s].push_back(reshape(state[s], {1, batch_, hidden_}));
      }
    }
    std::vector<ValueId> all;
    for (const auto& of_step : rows) all.push_back(joined(of_step, 1));
    std::vector<ValueId> outputs = {joined(all, 0)};
    for (const auto& of_state : last) outputs.push_back(joined(of_state, 0));
    return outputs;
  }

  // Of [batch, gates * hidden] those of one gate.
  ValueId gate(ValueId values, std::int64_t index) {
    return gates_ == 1 ? values : part(values, 1, index * hidden_, hidden_);
  }
  // state times the recurrent weights of `count` gates from `first` on, and `added`, which may be a
  // bias, rows or nothing.
  ValueId product(ValueId state, std::size_t way, std::int64_t first, std::int64_t count,
                  ValueId added) {
    const ValueId all = of_way(2, way, {gates_ * hidden_, hidden_});
    const ValueId weights = count == gates_ ? all : part(all, 0, first * hidden_, count * hidden_);
    return gemm(state, weights, added);
  }
  // The half of the bias that goes with the state, of a gate; kNoValue: there is none.
  ValueId recurrent_bias(std::size_t way, std::int64_t index) {
    if (!node_.has_input(3)) return kNoValue;
    const ValueId both = of_way(3, way, {2 * gates_ * hidden_});
    return part(both, 0, (gates_ + index) * hidden_, hidden_);
  }
  // Gates whose recurrent bias is not added with the input's, as they are multiplied before.
  void keep_bias_of(std::int64_t gate) { kept_ = gate; }

  ValueId add(const char* op, const std::vector<ValueId>& inputs,
              json attributes = json::object()) {
    auto made = node_.add(op, std::move(attributes), inputs);
    if (!made) throw Refused{made.error()};
    return *made;
  }

 private:
  void refuse_options() const {
    if (steps_ > kMostSteps) {
      throw Refused{node_.unsupported("more than " + std::to_string(kMostSteps) + " steps")};
    }
    for (const char* name : {"clip", "activation_alpha", "activation_beta"}) {
      if (node_.has(name)) throw Refused{node_.unsupported(std::string("its ") + name)};
    }
    if (node_.integer("layout", 0) != 0) throw Refused{node_.unsupported("its layout")};
    if (node_.integer("input_forget", 0) != 0) throw Refused{node_.unsupported("input_forget")};
    if (node_.has_input(7)) throw Refused{node_.unsupported("peepholes")};
    auto lengths = node_.parameter("sequence_lens", 4, {});
    if (!lengths) throw Refused{lengths.error()};
    if (!lengths->empty() && std::ssize(*lengths) != batch_) {
      throw Refused{node_.invalid("has other sequence_lens than sequences")};
    }
    for (const std::int64_t length : *lengths) {
      if (length != steps_) throw Refused{node_.unsupported("sequences of other lengths")};
    }
  }

  ValueId part(ValueId x, std::size_t axis, std::int64_t begin, std::int64_t count) {
    List shape = node_.type_of(x).shape;
    if (begin == 0 && shape[axis] == count) return x;
    List starts(shape.size(), 0);
    const List steps(shape.size(), 1);
    starts[axis] = begin, shape[axis] = count;
    return add("Slice", {x}, {{"starts", starts}, {"steps", steps}, {"shape", shape}});
  }
  ValueId reshape(ValueId x, const List& shape) {
    return add("Reshape", {x}, {{"shape", shape}, {"allowzero", 0}});
  }
  ValueId joined(const std::vector<ValueId>& parts, std::int64_t axis) {
    auto all = concatenated(node_, parts, axis);
    if (!all) throw Refused{all.error()};
    return *all;
  }
  ValueId of_way(std::size_t input, std::size_t way, const List& shape) {
    return reshape(part(node_.input(input), 0, static_cast<std::int64_t>(way), 1), shape);
  }
  ValueId gemm(ValueId x, ValueId weights, ValueId added) {
    return add("Gemm", {x, weights, added},
               {{"alpha", 1.0}, {"beta", 1.0}, {"transA", 0}, {"transB", 1}});
  }

  // [steps, batch, gates * hidden], with the biases.
  ValueId products_of_input(std::size_t way) {
    const std::int64_t width = gates_ * hidden_;
    ValueId bias = kNoValue;
    if (node_.has_input(3)) {
      const ValueId both = of_way(3, way, {2 * width});
      std::vector<ValueId> sums;
      for (std::int64_t g = 0; g < gates_; ++g) {
        const ValueId own = part(both, 0, g * hidden_, hidden_);
        sums.push_back(g == kept_ ? own : add("Add", {own, recurrent_bias(way, g)}));
      }
      bias = joined(sums, 0);
    }
    const ValueId flat = reshape(node_.input(0), {steps_ * batch_, inputs_});
    return reshape(gemm(flat, of_way(1, way, {width, inputs_}), bias), {steps_, batch_, width});
  }

  ValueId initial(std::size_t state, std::size_t way) {
    if (node_.has_input(5 + state)) return of_way(5 + state, way, {batch_, hidden_});
    OnnxTensor zeros{{node_.type(0).scalar, {1}}, std::vector<std::uint8_t>(8)};
    zeros.bytes.resize(static_cast<std::size_t>(zeros.type.bytes()));
    return add("Expand", {node_.constant(std::move(zeros))}, {{"shape", List{batch_, hidden_}}});
  }

  const NodeReader& node_;
  std::int64_t gates_, steps_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0, kept_ = -1;
  std::vector<bool> ways_;  // whether each goes from the end
};

template <typename Read>
Outputs guarded(const Read& read) {
  try {
    return read();
  } catch (const Refused& refused) {
    return refused.error;
  }
}

Outputs lstm(const NodeReader& node) {
  return guarded([&] {
    Recurrence of(node, 4);  // gates i, o, f, c
    of.check_activations({"sigmoid", "tanh", "tanh"});
    return of.run(2, [&](ValueId x, const std::vector<ValueId>& state, std::size_t way) {
      const ValueId gates = of.product(state[0], way, 0, 4, x);
      const auto open = [&](std::int64_t gate) {
        return of.add("Sigmoid", {of.gate(gates, gate)});
      };
      const ValueId kept = of.add("Mul", {open(2), state[1]});
      const ValueId fresh = of.add("Mul", {open(0), of.add("Tanh", {of.gate(gates, 3)})});
      const ValueId cell = of.add("Add", {kept, fresh});
      return std::vector{of.add("Mul", {open(1), of.add("Tanh", {cell})}), cell};
    });
  });
}

Outputs gru(const NodeReader& node) {
  return guarded([&] {
    Recurrence of(node, 3);  // gates z, r, h
    of.check_activations({"sigmoid", "tanh"});
    const bool product_first = node.integer("linear_before_reset", 0) != 0;
    if (product_first) of.keep_bias_of(2);
    return of.run(1, [&](ValueId x, const std::vector<ValueId>& state, std::size_t way) {
      const ValueId h = state[0];
      const auto open = [&](std::int64_t gate) {
        return of.add("Sigmoid", {of.product(h, way, gate, 1, of.gate(x, gate))});
      };
      const ValueId z = open(0), r = open(1);
      ValueId fresh = kNoValue;
      if (product_first) {
        const ValueId product = of.product(h, way, 2, 1, of.recurrent_bias(way, 2));
        fresh = of.add("Add", {of.gate(x, 2), of.add("Mul", {r, product})});
      } else {
        fresh = of.product(of.add("Mul", {r, h}), way, 2, 1, of.gate(x, 2));
      }
      fresh = of.add("Tanh", {fresh});
      return std::vector{of.add("Add", {fresh, of.add("Mul", {z, of.add("Sub", {h, fresh})})})};
    });
  });
}

Outputs rnn(const NodeReader& node) {
  return guarded([&] {
    Recurrence of(node, 1);
    const auto* given = node.attribute("activations");
    const bool relu =
        given && given->strings_size() > 0 && Recurrence::lower_case(given->strings(0)) == "relu";
    of.check_activations({relu ? "relu" : "tanh"});
    return of.run(1, [&](ValueId x, const std::vector<ValueId>& state, std::size_t way) {
      return std::vector{of.add(relu ? "Relu" : "Tanh", {of.product(state[0], way, 0, 1, x)})};
    });
  });
}

constexpr ReaderRow kRecurrentReaders[] = {
    {"LSTM", lstm},
    {"GRU", gru},
    {"RNN", rnn},
};

}  // namespace

std::span<const ReaderRow> recurrent_readers() { return kRecurrentReaders; }

}  // namespace fettle::model

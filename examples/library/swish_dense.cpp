// A dense layer with swish behind it, which no network of fettle's has, and a sketch for it.
//
//   swish_dense                                      tunes it here for 200 trials, and says how
//   fast swish_dense tune swish-dense --device rk3399 …   the whole command line of fettle
//   swish_dense explain 17                           and all its other commands
#include <cstdio>

#include "fettle/program.h"

namespace {

using fettle::Axis;

fettle::Operator swish_dense() {
  const Axis n{"n", 16}, k{"k", 256}, m{"m", 128};
  fettle::Operator op("dense 16x256 to 128 with swish");
  const fettle::Tensor x = op.input("x", {n.extent, k.extent}),
                       weights = op.constant("weights", {k.extent, m.extent}),
                       bias = op.constant("bias", {m.extent});
  const fettle::Tensor sums = op.sum("sums", {n, m}, {k}, x(n, k) * weights(k, m));
  const fettle::Tensor biased = op.stage("biased", {n, m}, sums(n, m) + bias(m));
  op.output("y", {n, m}, swish(biased(n, m)));
  return op;
}

// Rows of the output by threads, vectors along its columns, `rows` x one vector in registers.
fettle::CpuSketch rows_of_vectors() {
  fettle::CpuSketch sketch;
  sketch.name = "rows_of_vectors";
  sketch.applies = [](const std::vector<fettle::StageFacts>& stages, const fettle::CpuFacts&) {
    return stages.size() == 6 && stages[3].name == "sums" && stages.back().output;
  };
  sketch.knobs = [](const std::vector<fettle::StageFacts>&, const fettle::CpuFacts& cpu) {
    return std::vector<fettle::Knob>{{"rows", {1, 2, 4, 8}},
                                     {"lanes", {cpu.vector_bits / 32, cpu.vector_bits / 16}},
                                     {"reduce", {1, 2, 4, 8}}};
  };
  sketch.schedule = [](fettle::Steps& steps, const auto& knob) {
    steps.inline_stage("biased");
    steps.split("y", "n", knob("rows"), "n.task", "n.row");
    steps.split("y", "m", knob("lanes"), "m.task", "m.lane");
    steps.reorder("y", {"n.task", "m.task", "n.row", "m.lane"});
    steps.parallel("y", {"n.task", "m.task"});
    steps.unroll("y", "n.row");
    steps.vectorize("y", "m.lane");
    steps.compute_at("sums", "y", "task", true);
    steps.split("sums", "k", knob("reduce"), "k.outer", "k.inner");
    steps.reorder("sums", {"k.outer", "k.inner", "n", "m"});
    steps.unroll("sums", "k.inner");
    steps.unroll("sums", "n");
    steps.vectorize("sums", "m");
  };
  return sketch;
}

}  // namespace

int main(int argc, char** argv) {
  fettle::Program program(argc, argv);
  program.add("swish-dense", swish_dense());
  program.add(rows_of_vectors());
  if (!program.wants_to_tune()) return program.run();
  const fettle::Tuned tuned = program.tune("swish-dense", {.trials = 200, .db = "swish_dense.db"});
  if (!tuned.found) return tuned.status;
  std::printf("%.1f us by %s\n", tuned.nanoseconds / 1e3, tuned.configuration.c_str());
  return 0;
}

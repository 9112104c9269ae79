// Products and poolings as computations (computation.h).
#include "host/backend/vta/computation.h"

#include <fmt/format.h>

#include "host/backend/vta/pooling.h"
#include "host/space/compulsory.h"

namespace fettle::vta::host {
namespace {

double lanes_of(const Design& design) {
  return static_cast<double>(design.batch) * design.block_out;
}

class ProductComputation final : public Computation {
 public:
  ProductComputation(Product product, const Design& design, double compulsory_bytes)
      : product_(std::move(product)),
        design_(design),
        bound_(bound_of(product_, design_, compulsory_bytes)) {}

  const std::vector<ir::ProgramBuffer>& buffers() const override { return product_.buffers; }
  Result<space::Sketch> sketch() const override { return sketch_of(product_, design_); }
  Result<Generated> generate(const space::SearchSpace& space,
                             const space::Configuration& configuration) const override {
    return host::generate(product_, design_, tiling_of(space, configuration));
  }
  std::int64_t tile_entries(const space::SearchSpace& space,
                            const space::Configuration& configuration,
                            Memory memory) const override {
    return host::tile_entries(product_, tiling_of(space, configuration), memory);
  }
  const Bound& bound() const override { return bound_; }
  std::string bound_text() const override { return bound_.text(product_); }
  // Multiply-adds; of the tail, one for each lane and step.
  double operations() const override {
    return 2.0 * static_cast<double>(product_.products()) *
               static_cast<double>(design_.macs_per_uop()) +
           lanes_of(design_) * static_cast<double>(product_.outputs()) *
               static_cast<double>(product_.tail.size());
  }

 private:
  Product product_;
  Design design_;
  Bound bound_;
};

class PoolingComputation final : public Computation {
 public:
  PoolingComputation(Pooling pooling, const Design& design, double compulsory_bytes)
      : pooling_(std::move(pooling)),
        design_(design),
        bound_(bound_of(pooling_, design_, compulsory_bytes)) {}

  const std::vector<ir::ProgramBuffer>& buffers() const override { return pooling_.buffers; }
  Result<space::Sketch> sketch() const override { return sketch_of(pooling_, design_); }
  Result<Generated> generate(const space::SearchSpace& space,
                             const space::Configuration& configuration) const override {
    return host::generate(pooling_, design_, pooling_tiling_of(space, configuration));
  }
  std::int64_t tile_entries(const space::SearchSpace& space,
                            const space::Configuration& configuration,
                            Memory memory) const override {
    return host::tile_entries(pooling_, pooling_tiling_of(space, configuration), memory);
  }
  const Bound& bound() const override { return bound_; }
  std::string bound_text() const override {
    const auto outputs = pooling_.outputs();
    return fmt::format(
        "inputs brought into ACC by GEMM, reset before: {} x 2 cycles: {} cycles\n"
        "outputs begun: {}; compared with each place of the window: {} x {} cycles: {} cycles\n"
        "port: {:.0f} compulsory bytes / {} a cycle: {:.0f} cycles\n"
        "bound: max({}, {:.0f}) = {:.0f} cycles\n",
        pooling_.inputs(), 2 * pooling_.inputs(), outputs, pooling_.comparisons(),
        step_cycles(design_).alu,
        static_cast<std::uint64_t>(pooling_.comparisons()) * step_cycles(design_).alu,
        bound_.compulsory_bytes, kPortBytes, bound_.port_cycles(), bound_.compute_cycles(),
        bound_.port_cycles(), bound_.cycles());
  }
  double operations() const override {
    return lanes_of(design_) * static_cast<double>(pooling_.comparisons());
  }

 private:
  Pooling pooling_;
  Design design_;
  Bound bound_;
};

}  // namespace

Result<std::unique_ptr<const Computation>> computation_of(const space::ComputeDag& dag,
                                                          const Design& design) {
  const double bytes = space::compulsory_bytes(dag);
  if (dag.stages.back().combiner == space::Combiner::Max) {
    auto pooling = pooling_of(dag, design);
    if (!pooling) return std::move(pooling).error();
    return std::unique_ptr<const Computation>(
        new PoolingComputation(std::move(*pooling), design, bytes));
  }
  auto product = product_of(dag, design);
  if (!product) return std::move(product).error();
  return std::unique_ptr<const Computation>(
      new ProductComputation(std::move(*product), design, bytes));
}

}  // namespace fettle::vta::host

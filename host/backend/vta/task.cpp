// A product on a design: space, programs, features (task.h).
#include "host/backend/vta/task.h"

#include "host/backend/vta/explain.h"
#include "host/backend/vta/features.h"
#include "host/backend/vta/stream.h"
#include "host/space/compulsory.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle::vta::host {
namespace {

class VtaTask final : public backend::Task {
 public:
  VtaTask(Product product, Design design, space::Sketch sketch, double compulsory_bytes)
      : product_(std::move(product)),
        design_(std::move(design)),
        space_({std::move(sketch)}),
        compulsory_bytes_(compulsory_bytes),
        bound_(bound_of(product_, design_, compulsory_bytes)) {}

  const space::SearchSpace& space() const override { return space_; }

  Result<wire::BuildOutputT> build(const space::Configuration& configuration) const override {
    auto program = generated(configuration);
    if (!program) return std::move(program).error();
    wire::BuildOutputT output;
    output.facts = std::make_unique<wire::ProgramFactsT>(facts_of(*program));
    auto stream = finish_stream(design_, std::move(program->code));
    if (!stream) return std::move(stream).error();
    output.program = std::make_unique<wire::ProgramT>(program_of(product_, design_, *stream));
    output.program_hash = std::make_unique<wire::Hash>(content_hash(encode(*output.program)));
    return output;
  }

  Result<wire::ProgramFactsT> facts(const space::Configuration& configuration) const override {
    auto program = generated(configuration);
    if (!program) return std::move(program).error();
    return facts_of(*program);
  }

  Result<std::vector<float>> features(const space::Configuration& configuration) const override {
    auto program = generated(configuration);
    if (!program) return std::move(program).error();
    return features_of(design_, *program);
  }

  const char* screen(std::span<const float> features) const override {
    return screened(features, bound_);
  }

  Result<std::string> explain(const space::Configuration& configuration,
                              const std::string& dump_after) const override {
    auto program = generated(configuration);
    if (!program) return std::move(program).error();
    return explained(product_, design_, tiling_of(space_, configuration), bound_,
                     std::move(*program), dump_after);
  }

 private:
  Result<Generated> generated(const space::Configuration& configuration) const {
    if (!space_.contains(configuration)) {
      return Error{ErrorCode::InvalidArgument, "the configuration is none of this space"};
    }
    return generate(product_, design_, tiling_of(space_, configuration));
  }

  wire::ProgramFactsT facts_of(const Generated& program) const {
    wire::ProgramFactsT facts;
    // Multiply-adds; of the tail, one for each lane and step.
    const double lanes = static_cast<double>(design_.batch) * design_.block_out;
    facts.integer_operations =
        2.0 * static_cast<double>(product_.products()) *
            static_cast<double>(design_.macs_per_uop()) +
        lanes * static_cast<double>(product_.outputs()) * static_cast<double>(product_.tail.size());
    facts.compulsory_bytes = compulsory_bytes_;
    facts.features = features_of(design_, program);
    return facts;
  }

  Product product_;
  Design design_;
  space::SearchSpace space_;
  double compulsory_bytes_;
  Bound bound_;
};

Result<void> check_memory(const Product& product, const DesignTarget& target) {
  std::int64_t bytes = 0;
  for (const ir::ProgramBuffer& each : product.buffers) {
    bytes += each.buffer->elements() * each.buffer->type.bytes();
  }
  if (target.memory_bytes == 0 || bytes <= target.memory_bytes) return {};
  return Error{ErrorCode::Unsupported, "the buffers have " + std::to_string(bytes) +
                                           " bytes, the device takes " +
                                           std::to_string(target.memory_bytes)};
}

}  // namespace

Result<std::unique_ptr<const backend::Task>> open_task(const space::ComputeDag& dag,
                                                       DesignTarget target) {
  auto product = product_of(dag, target.design);
  if (!product) return std::move(product).error();
  if (auto fits = check_memory(*product, target); !fits) return std::move(fits).error();
  auto sketch = sketch_of(*product, target.design);
  if (!sketch) return std::move(sketch).error();
  return std::unique_ptr<const backend::Task>(
      new VtaTask(std::move(*product), std::move(target.design), std::move(*sketch),
                  space::compulsory_bytes(dag)));
}

}  // namespace fettle::vta::host

// A computation on a design: space, programs, features (task.h).
#include "host/backend/vta/task.h"

#include "host/backend/vta/computation.h"
#include "host/backend/vta/explain.h"
#include "host/backend/vta/features.h"
#include "host/backend/vta/stream.h"
#include "host/backend/vta/timeline_picture.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle::vta::host {
namespace {

class VtaTask final : public backend::Task {
 public:
  VtaTask(std::unique_ptr<const Computation> computation, Design design, space::Sketch sketch)
      : computation_(std::move(computation)),
        design_(std::move(design)),
        space_({std::move(sketch)}) {}

  const space::SearchSpace& space() const override { return space_; }

  Result<wire::BuildOutputT> build(const space::Configuration& configuration) const override {
    auto program = generated(configuration);
    if (!program) return std::move(program).error();
    wire::BuildOutputT output;
    output.facts = std::make_unique<wire::ProgramFactsT>(facts_of(*program));
    auto stream = finish_stream(design_, std::move(program->code));
    if (!stream) return std::move(stream).error();
    output.program =
        std::make_unique<wire::ProgramT>(program_of(computation_->buffers(), design_, *stream));
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
    return screened(features, computation_->bound());
  }

  Result<std::string> explain(const space::Configuration& configuration,
                              const std::string& dump_after) const override {
    auto program = generated(configuration);
    if (!program) return std::move(program).error();
    return explained(*computation_, space_, configuration, design_, std::move(*program),
                     dump_after);
  }

  Result<std::string> timeline(const space::Configuration& configuration) const override {
    auto program = generated(configuration);
    if (!program) return std::move(program).error();
    const auto stream = finish_stream(design_, std::move(program->code));
    if (!stream) return stream.error();
    const auto time = time_of(design_, *stream);
    if (!time) return time.error();
    return timeline_picture(*stream, *time);
  }

 private:
  Result<Generated> generated(const space::Configuration& configuration) const {
    if (!space_.contains(configuration)) {
      return Error{ErrorCode::InvalidArgument, "the configuration is none of this space"};
    }
    return computation_->generate(space_, configuration);
  }

  wire::ProgramFactsT facts_of(const Generated& program) const {
    wire::ProgramFactsT facts;
    facts.integer_operations = computation_->operations();
    facts.compulsory_bytes = computation_->bound().compulsory_bytes;
    facts.features = features_of(design_, program);
    return facts;
  }

  std::unique_ptr<const Computation> computation_;
  Design design_;
  space::SearchSpace space_;
};

Result<void> check_memory(const Computation& computation, const DesignTarget& target) {
  std::int64_t bytes = 0;
  for (const ir::ProgramBuffer& each : computation.buffers()) {
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
  auto computation = computation_of(dag, target.design);
  if (!computation) return std::move(computation).error();
  if (auto fits = check_memory(**computation, target); !fits) return std::move(fits).error();
  auto sketch = (*computation)->sketch();
  if (!sketch) return std::move(sketch).error();
  return std::unique_ptr<const backend::Task>(
      new VtaTask(std::move(*computation), std::move(target.design), std::move(*sketch)));
}

}  // namespace fettle::vta::host

// Records' programs on the agent's devices (our_kernel.h).
#include "tests/bench/kernels/our_kernel.h"

#include "agent/device/cpu/cpu_device.h"
#include "agent/measure/output_check.h"
#include "agent/platform/cpu_facts.h"
#include "host/backend/backend.h"
#include "host/space/wire_types.h"

namespace fettle::bench {
namespace {

class OurKernel final : public Contender {
 public:
  // error_growth: of the program, see build.fbs.
  OurKernel(agent::Device& device, ir::Scalar type, wire::ProgramT program,
            std::string configuration, double error_growth)
      : device_(device),
        type_(type),
        error_growth_(error_growth),
        program_(std::move(program)),
        name_("fettle"),
        implementation_(std::move(configuration)) {}

  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return implementation_; }

  Result<void> prepare(unsigned threads) {
    for (std::uint32_t i = 0; i < program_.buffers.size(); ++i) {
      if (program_.buffers[i]->role == wire::BufferRole::Output) output_ = i;
    }
    agent::PrepareOptions options;
    options.threads = threads;
    // Programs of the compiler fill their buffers by formula: there are no blobs.
    auto done = device_.prepare(program_, options, [](const wire::Hash&) { return ByteView(); });
    if (!done) return std::move(done).error();
    return {};
  }

  Result<void> check(const Layer& layer) override {
    auto actual = run_anew();
    if (!actual) return std::move(actual).error();
    const std::vector<std::uint8_t> expected = as_bytes(layer.our_expected, type_);
    wire::ExpectedOutputT how;
    how.dtype = space::wire_type(type_);
    how.absolute = layer.tolerance.absolute * error_growth_;
    how.relative = layer.tolerance.relative;
    auto equal = agent::check_output(*actual, ByteView(expected.data(), expected.size()), how,
                                     device_.unwritten_byte(how.dtype), "output");
    if (!equal) return equal;
    return device_.check_surroundings();
  }

  Result<void> run(std::uint32_t times) override {
    auto sample = device_.run(times);
    if (!sample) return std::move(sample).error();
    // By events, as its peer's; CPUs' and OpenCL's peers are timed by the caller.
    if (device_.info().kind == wire::DeviceKind::Cuda) {
      nanoseconds_ = double(sample->ticks) / sample->ticks_per_second * 1e9;
    }
    return {};
  }
  double device_nanoseconds() const override { return nanoseconds_; }

  Result<std::vector<float>> output() override {
    auto bytes = run_anew();
    if (!bytes) return std::move(bytes).error();
    return as_floats({bytes->begin(), bytes->end()}, type_);
  }

 private:
  Result<ByteView> run_anew() {
    if (auto done = device_.poison_outputs(); !done) return std::move(done).error();
    if (auto done = run(1); !done) return std::move(done).error();
    return device_.read(output_);
  }

  agent::Device& device_;
  ir::Scalar type_;  // its output's
  double error_growth_;
  double nanoseconds_ = 0;
  wire::ProgramT program_;
  std::string name_, implementation_;
  std::uint32_t output_ = 0;
};

}  // namespace

Result<std::unique_ptr<agent::Device>> open_local_cpu(unsigned threads) {
  agent::DeviceConfig config;
  config.key = "local";
  config.cores = agent::usable_cores();
  if (threads > config.cores.size()) {
    return Error{ErrorCode::InvalidArgument,
                 std::to_string(threads) + " threads wanted, this process may use " +
                     std::to_string(config.cores.size()) + " cores",
                 {}};
  }
  if (threads > 0) config.cores.erase(config.cores.begin(), config.cores.end() - threads);
  return agent::open_cpu(agent::describe_cpu(config, agent::SystemRoot()));
}

Result<wire::BuildOutputT> build(const Layer& layer, const std::string& configuration,
                                 const space::Target& target) {
  auto task = backend::open_task(layer.workload.dag(), target);
  if (!task) return std::move(task).error();
  auto chosen = (*task)->space().parse(configuration);
  if (!chosen) return std::move(chosen).error();
  auto built = (*task)->build(*chosen);
  if (!built) return std::move(built).error();
  if (auto sound = check_program(*built->program); !sound) return std::move(sound).error();
  return built;
}

Result<Rebuilt> rebuild(const Layer& layer, const records::TuningRecord& record, unsigned threads) {
  auto target = space::CpuTarget::parse(record.target);
  if (!target) return std::move(target).error();
  target->threads = static_cast<int>(threads);
  auto built = build(layer, record.configuration, target->target());
  if (!built) return std::move(built).error();
  return Rebuilt{std::move(*target), std::move(*built)};
}

Result<std::unique_ptr<Contender>> make_built_kernel(agent::Device& device, const Layer& layer,
                                                     wire::BuildOutputT built,
                                                     const std::string& configuration,
                                                     unsigned threads) {
  auto kernel = std::make_unique<OurKernel>(device, output_type(layer), std::move(*built.program),
                                            configuration, built.facts->error_growth);
  if (auto ready = kernel->prepare(threads); !ready) return std::move(ready).error();
  if (auto right = kernel->check(layer); !right) return std::move(right).error();
  return std::unique_ptr<Contender>(std::move(kernel));
}

Result<std::unique_ptr<Contender>> make_our_kernel(agent::Device& device, const Layer& layer,
                                                   const records::TuningRecord& record,
                                                   unsigned threads) {
  auto built = rebuild(layer, record, threads);
  if (!built) return std::move(built).error();
  return make_built_kernel(device, layer, std::move(built->output), record.configuration, threads);
}

}  // namespace fettle::bench

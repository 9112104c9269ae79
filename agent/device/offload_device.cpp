// Programs in a device's own memory (offload_device.h).
#include "agent/device/offload_device.h"

#include <algorithm>

#include "agent/device/fault_map.h"
#include "runtime/weights.h"

namespace fettle::agent {
namespace {

// A driver that dies while it compiles or runs a candidate died of it.
struct CandidateScope {
  CandidateScope() { fault_map().candidate_running.store(true); }
  ~CandidateScope() { fault_map().candidate_running.store(false); }
};

}  // namespace

std::string extra_of(const wire::DeviceInfoT& info, const char* name, const char* otherwise) {
  for (const auto& value : info.extra) {
    if (value->name == name) return value->value;
  }
  return otherwise;
}

std::uint64_t OffloadDevice::kept_bytes() const {
  return std::min<std::uint64_t>(info_.memory_limit_bytes / 4, std::uint64_t{256} << 20);
}

Result<std::uint64_t> OffloadDevice::prepare(const wire::ProgramT& program,
                                             const PrepareOptions& options,
                                             const BlobLookup& blobs) {
  reset();
  if (auto fits = check_fit(program, options); !fits) return std::move(fits).error();
  CandidateScope scope;
  const Parts mine = parts();
  auto loaded =
      runtime::LoadedProgram::load(program, mine.memory, mine.kinds, blobs,
                                   runtime::copies_of_weights(program, options.weights_bytes));
  if (!loaded) return std::move(loaded).error();
  program_.emplace(std::move(*loaded));
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    names_.push_back(runtime::name_of(program, i));
  }
  if (auto ready = synchronize(); !ready) return std::move(ready).error();
  if (!program_->has_prepare_launches()) return std::uint64_t{0};
  unchecked_ = true;
  return program_->prepare();
}

Result<Sample> OffloadDevice::run(std::uint32_t times, bool launch_ticks) {
  if (!program_) return Error{ErrorCode::InvalidArgument, "run before prepare"};
  Sample sample{0, info_.clock, info_.clock_hz};
  sample.launch_ticks.resize(launch_ticks ? program_->run_launches() : 0);
  CandidateScope scope;
  unchecked_ = true;
  const auto ticks = program_->run(times, sample.launch_ticks);
  if (!ticks) return ticks.error();
  sample.ticks = std::max<std::uint64_t>(*ticks, 1);
  return sample;
}

Result<void> OffloadDevice::poison_outputs() {
  if (!program_) return Error{ErrorCode::InvalidArgument, "poison before prepare"};
  return program_->poison_outputs();
}

Result<ByteView> OffloadDevice::read(std::uint32_t buffer) {
  if (!program_ || buffer >= program_->buffers().size()) {
    return Error{ErrorCode::InvalidArgument, "no such buffer"};
  }
  if (auto done = download(*program_->buffers()[buffer], read_); !done) {
    return std::move(done).error();
  }
  return ByteView(read_);
}

Result<void> OffloadDevice::check_surroundings() {
  Result<void> found;
  if (!program_ || !unchecked_) return found;
  unchecked_ = false;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    runtime::BufferMemory& memory = *program_->buffers()[i];
    const auto damage = memory.damage();
    if (!damage) return damage.error();
    if (damage->empty()) continue;
    memory.mend();
    if (found) found = Error{ErrorCode::StrayWrite, names_[i] + ": " + *damage};
  }
  return found;
}

void OffloadDevice::reset() {
  // Buffers are used again: the next program must not be blamed for what this one did.
  if (unchecked_ && !lost()) (void)check_surroundings();
  unchecked_ = false;
  names_.clear();
  program_.reset();
}

Result<void> OffloadDevice::check_fit(const wire::ProgramT& program,
                                      const PrepareOptions& options) const {
  if (options.threads != 1) {
    return Error{ErrorCode::InvalidArgument,
                 std::to_string(options.threads) +
                     " threads wanted, but only a CPU's launches are shared by threads"};
  }
  std::uint64_t total = 0;
  for (const auto& buffer : program.buffers) total += buffer->bytes;
  if (total > info_.memory_limit_bytes) {
    return Error{ErrorCode::OutOfMemory, "the program needs " + std::to_string(total >> 20) +
                                             " MiB, the device's limit is " +
                                             std::to_string(info_.memory_limit_bytes >> 20)};
  }
  return {};
}

}  // namespace fettle::agent

// Configuration, and streams on their thread (emulated_pl.h).
#include "fpga/qemu/emulated_pl.h"

#include <atomic>

#include "fpga/bitstream/bitstream.h"
#include "fpga/bitstream/configuration_data.h"

namespace fettle::vta {
namespace {

constexpr std::string_view kDie = "xc7z020";
// Streams that take longer never end: 20 s at 100 MHz.
constexpr std::uint64_t kMostCycles = 2'000'000'000;
// Data of which so much has no sync word are padding.
constexpr std::size_t kSyncWithin = 4096;

}  // namespace

// One start of the core. What it shares with whoever stops it outlives both.
struct EmulatedPl::Run {
  CoreRegisters::Stream stream;
  std::shared_ptr<Simulator> simulator;
  std::shared_ptr<CoreRegisters> registers;
  std::atomic<bool> stopped = false;
  bool taken = false;  // by work()
};

namespace {

// The board's memory until the run is stopped; remembers what went wrong.
class RunMemory final : public Dram {
 public:
  RunMemory(Dram& memory, const std::atomic<bool>& stopped) : memory_(memory), stopped_(stopped) {}
  bool read(std::uint64_t address, std::span<std::uint8_t> to) override {
    const bool ok = !stopped_ && memory_.read(address, to);
    if (!ok) errors |= 1;
    return ok;
  }
  bool write(std::uint64_t address, std::span<const std::uint8_t> from) override {
    const bool ok = !stopped_ && memory_.write(address, from);
    if (!ok) errors |= 2;
    return ok;
  }
  std::uint32_t errors = 0;  // as in register 0x28

 private:
  Dram& memory_;
  const std::atomic<bool>& stopped_;
};

// Whether the first instruction is one that the compute unit does at once. If not, the last
// stream's done is seen for longer: here, until the stream ends.
bool begins_with_compute(const Design& design, Dram& memory, std::uint64_t address) {
  Bytes bytes(kWordBytes);
  if (!memory.read(address, bytes)) return false;
  const auto instruction = Encoding(design).decode((*words_of(bytes))[0]);
  return instruction && unit_of(*instruction) == Unit::Compute && !instruction->tokens.pop_prev &&
         !instruction->tokens.pop_next;
}

}  // namespace

void EmulatedPl::stop() {
  if (!run_) return;
  run_->stopped = true;
  if (run_->taken) run_->registers->set_stopping(true);
  run_.reset();
  changed_.notify_all();
}

void EmulatedPl::erase() {
  const std::lock_guard lock(mutex_);
  stop();
  configured_ = false;
  data_.clear();
  simulator_.reset();
  registers_.reset();
}

void EmulatedPl::configure(ByteView words) {
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at + 4 <= words.size(); at += 4) {
    for (std::size_t i = 4; i-- > 0;) data_.push_back(words[at + i]);
  }
  const auto facts = read_configuration(data_);
  if (!facts) {
    if (data_.size() >= kSyncWithin && !find_sync_word(data_)) data_.clear();
    return;
  }
  data_.clear();
  const auto die = facts->idcode ? die_of_idcode(*facts->idcode) : std::nullopt;
  if (!die || die->name != kDie) return;
  stop();
  configured_ = true;
  simulator_.reset();
  registers_.reset();
  const Design* design = facts->user_access ? design_of_user_access(*facts->user_access) : nullptr;
  if (!design) return;
  auto simulator = Simulator::create(*design);
  if (!simulator) return;
  simulator_ = std::make_shared<Simulator>(std::move(*simulator));
  registers_ = make_core_registers(*design);
}

bool EmulatedPl::configured() const {
  const std::lock_guard lock(mutex_);
  return configured_;
}

std::uint32_t EmulatedPl::read(std::uint32_t offset) {
  const std::lock_guard lock(mutex_);
  return registers_ ? registers_->read(offset) : 0;
}

void EmulatedPl::write(std::uint32_t offset, std::uint32_t value) {
  const std::lock_guard lock(mutex_);
  if (!registers_) return;
  switch (registers_->write(offset, value)) {
    case CoreRegisters::Asked::Nothing:
      break;
    case CoreRegisters::Asked::Stop:
      stop();
      break;
    case CoreRegisters::Asked::Start:
      stop();
      if (begins_with_compute(simulator_->design(), memory_, registers_->stream().address)) {
        registers_->begun();
      }
      run_ = std::make_shared<Run>();
      run_->stream = registers_->stream();
      run_->simulator = simulator_;
      run_->registers = registers_;
      changed_.notify_all();
  }
}

void EmulatedPl::reset() {
  const std::lock_guard lock(mutex_);
  stop();
  if (registers_) registers_ = make_core_registers(simulator_->design());
}

void EmulatedPl::hang(bool on) {
  const std::lock_guard lock(mutex_);
  hang_ = on;
  changed_.notify_all();
}

void EmulatedPl::end() {
  const std::lock_guard lock(mutex_);
  stop();
  ended_ = true;
  changed_.notify_all();
}

void EmulatedPl::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ended_ || (run_ && !run_->taken); });
    if (ended_) return;
    const std::shared_ptr<Run> run = run_;
    run->taken = true;
    play(lock, run);
    run->registers->set_stopping(false);
    if (run_ == run) run_.reset();
  }
}

// Comes and goes with the lock.
void EmulatedPl::play(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Run>& run) {
  Simulator& simulator = *run->simulator;
  lock.unlock();
  RunMemory memory(memory_, run->stopped);
  const auto result =
      run->stream.at_zero
          ? simulator.run(memory, run->stream.address, run->stream.count, kMostCycles)
          : Error{ErrorCode::Unsupported, "base addresses other than 0"};
  lock.lock();
  changed_.wait(lock, [&] { return ended_ || run->stopped || !hang_; });
  if (run->stopped || ended_) return;
  if (result) {
    run->registers->finished(result->cycles);
    return;
  }
  // Whose units wait for each other forever has no error, and goes on.
  const bool unknown = result.error().code == ErrorCode::Malformed && memory.errors == 0;
  run->registers->failed(memory.errors | (unknown ? 4u : 0u));
}

}  // namespace fettle::vta

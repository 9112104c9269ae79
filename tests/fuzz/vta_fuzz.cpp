// Any bytes as a stream and its micro-ops: decoding, the listing and the verifier must hold. What
// the verifier passes must run to its end in the simulator and touch nothing but its buffers.
#include <algorithm>
#include <cstdlib>

#include "fpga/isa/determined.h"
#include "fpga/isa/disassemble.h"
#include "fpga/sim/simulator.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/vta_stream.h"

using namespace fettle::vta;

namespace {

constexpr std::uint64_t kStream = 0x100000;

// The stream's buffers and the stream; whoever reaches beyond them must have been refused.
class Guarded : public Dram {
 public:
  explicit Guarded(const fettle::testing::VtaStream& stream, const std::vector<Word>& words)
      : regions_(stream.regions), stream_(bytes_of(words)) {}
  bool read(std::uint64_t address, std::span<std::uint8_t> to) override {
    if (address == kStream && to.size() == stream_.size()) {
      std::copy(stream_.begin(), stream_.end(), to.begin());
      return true;
    }
    const Region* region = region_of({address, address + to.size()}, regions_);
    if (!region) std::abort();
    std::fill(to.begin(), to.end(), std::uint8_t{1});
    if (!region->contents.empty()) {
      const auto from = region->contents.subspan(address - region->address, to.size());
      std::copy(from.begin(), from.end(), to.begin());
    }
    return true;
  }
  bool write(std::uint64_t address, std::span<const std::uint8_t> from) override {
    const Region* region = region_of({address, address + from.size()}, regions_);
    if (!region || !region->writable) std::abort();
    return true;
  }

 private:
  std::vector<Region> regions_;
  fettle::Bytes stream_;
};

}  // namespace

// The first 16 bytes are four micro-ops, the rest instructions.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Design> all = designs();
  if (size < 16) return 0;
  fettle::testing::VtaStream stream(all[size / 16 % all.size()]);
  stream.uops.assign(data, data + 16);
  stream.regions[0].bytes = 16;
  stream.regions[0].contents = stream.uops;
  const auto words = words_of(fettle::ByteView(data + 16, (size - 16) / 16 * 16));
  if (!words) std::abort();
  const Encoding encoding(stream.design);
  for (const Word& word : *words) {
    const auto instruction = encoding.decode(word);
    if (instruction && *encoding.encode(*instruction) != word) std::abort();
  }
  if (disassemble(stream.design, *words).empty() != words->empty()) std::abort();
  const auto facts = verify(stream.design, *words, stream.regions);
  if (!facts) {
    if (facts.error().message.empty()) std::abort();
    return 0;
  }
  if (facts->gemm_steps + facts->reset_steps + facts->alu_imm_steps + facts->alu_steps > 20'000) {
    return 0;
  }
  (void)check_determined(stream.design, *words, stream.regions);
  static std::vector<Simulator> simulators = [] {
    std::vector<Simulator> made;
    for (const Design& design : all) made.push_back(*Simulator::create(design));
    return made;
  }();
  Guarded dram(stream, *words);
  const auto run = simulators[size / 16 % all.size()].run(
      dram, kStream, static_cast<std::uint32_t>(words->size()));
  if (!run) std::abort();
  return 0;
}

// The legal stream, and some that use more of what there is.
std::vector<fettle::Bytes> fuzz_seeds() {
  std::vector<fettle::Bytes> seeds;
  for (const Design& design : designs()) {
    for (int variant = 0; variant < 4; ++variant) {
      fettle::testing::VtaStream stream(design);
      if (variant == 1) stream.body<Gemm>(4).reset = true;
      if (variant == 2) stream.body<Alu>(5).use_imm = false;
      if (variant == 3) stream.body<Load>(1).y_pad_top = stream.body<Load>(1).x_pad_left = 3;
      fettle::Bytes seed = stream.uops;
      const fettle::Bytes words = bytes_of(stream.words());
      seed.insert(seed.end(), words.begin(), words.end());
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

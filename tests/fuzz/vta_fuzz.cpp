// Any bytes as a stream and its micro-ops: decoding, the listing and the verifier must hold. What
// the verifier passes must run to its end within the design's queues.
#include <cstdlib>
#include <cstring>

#include "fpga/isa/disassemble.h"
#include "fpga/isa/queues.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/vta_stream.h"

using namespace fettle::vta;

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
  if (!facts && facts.error().message.empty()) std::abort();
  return 0;
}

std::vector<fettle::Bytes> fuzz_seeds() {
  std::vector<fettle::Bytes> seeds;
  for (const Design& design : designs()) {
    const fettle::testing::VtaStream stream(design);
    fettle::Bytes seed = stream.uops;
    const fettle::Bytes words = bytes_of(stream.words());
    seed.insert(seed.end(), words.begin(), words.end());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

// Any bytes through every decoder. The first byte says which; what a decoder
// accepts must encode to something that it accepts again.
#include <cstdlib>

#include "tests/fuzz/fuzz_target.h"
#include "tests/protocol/wire_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto decoders = fettle::decoders();
  if (size == 0) return 0;
  const auto& decoder = decoders[data[0] % decoders.size()];
  const auto accepted = decoder.decode_and_encode({data + 1, size - 1});
  if (accepted && !decoder.decode_and_encode(*accepted)) std::abort();
  return 0;
}

std::vector<fettle::Bytes> fuzz_seeds() {
  std::vector<fettle::Bytes> seeds;
  const auto decoders = fettle::decoders();
  for (std::size_t i = 0; i < decoders.size(); ++i) {
    for (const auto& sample : decoders[i].samples) {
      fettle::Bytes seed = {static_cast<std::uint8_t>(i)};
      seed.insert(seed.end(), sample.bytes.begin(), sample.bytes.end());
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

// Any bytes as a network file. The first byte says whether the description's hash is set right, so
// that mutations get past it. What is accepted has all its blobs within the file.
#include <cstdlib>

#include "tests/fuzz/fuzz_target.h"
#include "tests/protocol/network_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fettle;
  if (size == 0) return 0;
  Bytes file(data + 1, data + size);
  if (data[0] % 4 != 0) file = with_right_hash(std::move(file));
  const auto network = read_network_file(file);
  if (!network) return 0;
  const auto blobs = blobs_of(*network, file);
  for (const auto& place : network->blobs) {
    if (blobs(*place->hash).size() != place->bytes) std::abort();
  }
  (void)check_blobs(*network, file);
  return 0;
}

std::vector<fettle::Bytes> fuzz_seeds() {
  using namespace fettle;
  std::vector<Bytes> seeds;
  NetworkSample with_inline_bytes = sample_network();
  auto& program = *with_inline_bytes.network.program;
  program.buffers[1]->fill->bytes = with_inline_bytes.contents[0];
  program.buffers[1]->fill->blob.reset();
  program.images[0]->bytes = with_inline_bytes.contents[1];
  with_inline_bytes.contents.clear();
  for (const Bytes& file :
       {network_file_of(sample_network()), network_file_of(with_inline_bytes)}) {
    for (const std::uint8_t first : {0, 1}) {
      Bytes seed = {first};
      seed.insert(seed.end(), file.begin(), file.end());
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

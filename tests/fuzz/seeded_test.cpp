// A fuzz target as a plain test: its seeds, and thousands of mutations of them, the same in each
// run: what it finds is the change's own. FETTLE_FUZZ_SEED and FETTLE_FUZZ_RUNS look further.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/fuzz/fuzz_target.h"

namespace {

using fettle::Bytes;

std::uint32_t number_of(const char* name, std::uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

// What libFuzzer's mutators do, in short.
void mutate(Bytes& bytes, const std::vector<Bytes>& seeds, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  switch (bytes.empty() ? 3 : below(6)) {
    case 0:
      bytes[below(bytes.size())] ^= static_cast<std::uint8_t>(1u << below(8));
      break;
    case 1:
      bytes[below(bytes.size())] = static_cast<std::uint8_t>(random());
      break;
    case 2:
      bytes.resize(below(bytes.size()));
      break;
    case 3:
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() + 1)),
                   static_cast<std::uint8_t>(random()));
      break;
    case 4: {  // a little-endian word of interest, where offsets and sizes lie
      static const std::uint32_t words[] = {0,          1,          4,         0x7fffffff,
                                            0x80000000, 0xffffffff, 0xfffffffc};
      const std::uint32_t word = words[below(std::size(words))];
      const std::size_t at = below(bytes.size()) & ~std::size_t{3};
      for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i) {
        bytes[at + i] = static_cast<std::uint8_t>(word >> (8 * i));
      }
      break;
    }
    case 5: {  // part of another seed over part of this one
      const Bytes& other = seeds[below(seeds.size())];
      const std::size_t from = below(other.size()), at = below(bytes.size());
      const std::size_t count = std::min({below(64) + 1, other.size() - from, bytes.size() - at});
      std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), count,
                  bytes.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    }
  }
}

TEST(Fuzz, SeedsAndMutations) {
  const auto seeds = fuzz_seeds();
  ASSERT_FALSE(seeds.empty());
  for (const Bytes& seed : seeds) LLVMFuzzerTestOneInput(seed.data(), seed.size());
  const std::uint32_t seed = number_of("FETTLE_FUZZ_SEED", 1);
  const std::uint32_t runs = number_of("FETTLE_FUZZ_RUNS", 20'000);
  std::printf("FETTLE_FUZZ_SEED=%u FETTLE_FUZZ_RUNS=%u, %zu seeds\n", seed, runs, seeds.size());
  std::fflush(stdout);  // known even if the target aborts
  std::mt19937 random(seed);
  for (std::uint32_t run = 0; run < runs; ++run) {
    Bytes bytes = seeds[random() % seeds.size()];
    for (std::uint32_t n = 1 + random() % 6; n > 0; --n) mutate(bytes, seeds, random);
    bytes.shrink_to_fit();  // so that AddressSanitizer sees the true end
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
}

}  // namespace

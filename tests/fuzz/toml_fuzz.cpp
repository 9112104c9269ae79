// Any text as TOML: a user's kernel beside its source, and an agent's configuration. The first
// byte says which.
#include <cstdlib>

#include "agent/server/options.h"
#include "host/model/kernel_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/input_file.h"
#include "tests/support/kernel_sample.h"

using namespace fettle;

namespace {

// The kernel's source and reference lie beside the TOML.
const InputFile& kernel() {
  static const InputFile file(".toml");
  static const bool written = [] {
    std::ofstream(file.folder() / "input.cl") << testing::kSampleOpenCl;
    std::ofstream(file.folder() / "twice_reference.c") << testing::kSampleReference;
    return true;
  }();
  if (!written) std::abort();
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  if (data[0] % 2 == 0) {
    // No path but those beside it: a mutation must not read devices.
    if (text.find('/') != std::string::npos) {
      for (const char* word : {"/dev", "/proc", "/sys"})
        if (text.find(word) != std::string::npos) return 0;
    }
    const auto list = model::load_kernel(kernel().of({data + 1, size - 1}));
    if (!list && list.error().message.empty()) std::abort();
  } else {
    const auto words = agent::options_of_config(text, "agent.toml");
    if (words) (void)agent::parse_options(*words);
  }
  return 0;
}

std::vector<Bytes> fuzz_seeds() {
  std::vector<Bytes> seeds = {seed_of(0, testing::kSampleToml)};
  seeds.push_back(seed_of(0, "N = 1\xCC\xBC\n"));  // no whitespace, though the library asks
  seeds.push_back(seed_of(0, contents_of(FETTLE_TEST_DATA "/kernels/ktt_gemm.toml")));
  seeds.push_back(seed_of(
      1,
      "broker = \"tcp://laptop:9190\"\nbroker-key = 'x'  # a note\nkey-file = \"pynq-1.key\"\n"
      "key = \"pynq\"\ncores = [0, 1]\nblob-cache = 64\n"));
  seeds.push_back(
      seed_of(1,
              "broker = \"tcp://laptop:9190\"\nlog = \"debug\"\n[[device]]\nkey = \"a\"\n"
              "cores = [0]\n[[device]]\ncores = [1]\nkey = \"b\"\n"));
  return seeds;
}

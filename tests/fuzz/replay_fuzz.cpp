// Any bytes as a recording, packed by gzip or not. One that is accepted is written as what is read
// again.
#include <zlib.h>

#include <cstdlib>

#include "host/replay/recording.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/input_file.h"

using namespace fettle;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file(".jsonl.gz"), written(".jsonl.gz");
  const auto recording = replay::read_recording(file.of({data, size}));
  if (!recording) {
    if (recording.error().message.empty()) std::abort();
    return 0;
  }
  (void)recording->best_nanoseconds();
  for (const auto& trial : recording->trials) {
    if (!recording->find(trial.configuration)) std::abort();
  }
  const std::string again = written.of({});
  if (!replay::write_recording(*recording, again) || !replay::read_recording(again)) std::abort();
  return 0;
}

namespace {

std::string unpacked(const std::string& path) {
  std::string text;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) std::abort();
  char part[4096];
  for (int read = 0; (read = gzread(file, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(read));
  }
  gzclose(file);
  return text;
}

}  // namespace

// The head and the first trials of a stored one, as many as the head says.
std::vector<Bytes> fuzz_seeds() {
  std::vector<Bytes> seeds;
  const std::string folder = FETTLE_TEST_DATA "/recordings";
  for (const char* name : {"/winograd_56x56x64.jsonl.gz", "/kernels/matmul_256.jsonl.gz"}) {
    auto recording = replay::read_recording(folder + name);
    if (!recording) std::abort();
    const InputFile file(".jsonl.gz");
    const std::string path = file.of({});
    recording->trials.resize(std::min<std::size_t>(recording->trials.size(), 3));
    if (!replay::write_recording(*recording, path)) std::abort();
    const std::string packed = contents_of(path);
    seeds.emplace_back(packed.begin(), packed.end());
    // As text, so that mutations are of what it says.
    const std::string text = unpacked(path);
    seeds.emplace_back(text.begin(), text.end());
  }
  return seeds;
}

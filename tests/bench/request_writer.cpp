// Writes built candidates of a network's task as files, for a machine that has an agent and a GPU
// but no host:   fettle-requests NETWORK TASK COUNT COMPUTE_CAPABILITY DRIVER FOLDER [SEED]
// In FOLDER: <n>.request, a MeasureRequest by the wire codec, <n>.json, its configuration, and
// <hash>.blob, the outputs that are expected of all of them.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "host/backend/backend.h"
#include "host/model/task_list.h"
#include "host/space/gpu_target.h"
#include "host/tune/measure_request.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle {
namespace {

struct Wanted {
  std::string network;
  std::size_t task = 0;
  int count = 0;
  space::GpuTarget target;
  std::filesystem::path folder;
  std::uint64_t seed = 1;
};

void write(const std::filesystem::path& path, ByteView bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

Result<void> write_requests(const Wanted& wanted) {
  const auto list = model::load_network(wanted.network);
  if (!list) return list.error();
  if (wanted.task >= list->tasks.size()) {
    return Error{ErrorCode::InvalidArgument,
                 wanted.network + " has " + std::to_string(list->tasks.size()) + " tasks"};
  }
  const space::Workload& workload = list->tasks[wanted.task].workload;
  const auto task = backend::open_task(workload.dag(), wanted.target.target());
  if (!task) return task.error();
  const auto expected = tune::evaluate_expected(workload, {});
  if (!expected) return expected.error();
  std::filesystem::create_directories(wanted.folder);
  for (const auto& output : expected->outputs) {
    write(wanted.folder / (to_hex(*output.check.blob) + ".blob"), output.bytes);
  }
  std::mt19937_64 rng(wanted.seed);
  wire::MeasureOptionsT options;
  for (int made = 0, drawn = 0; made < wanted.count && drawn < 100 * wanted.count; ++drawn) {
    const auto configuration = (*task)->space().random(rng);
    const auto features = (*task)->features(configuration);
    if (!features || (*task)->screen(*features)) continue;
    auto built = (*task)->build(configuration);
    if (!built) {
      std::fprintf(stderr, "%s\n", built.error().text().c_str());
      continue;
    }
    auto request = tune::measure_request(*built, *expected, options, workload.title());
    if (!request) return request.error();
    const std::string name = std::to_string(made++), text = (*task)->space().to_json(configuration);
    write(wanted.folder / (name + ".request"), encode(*request));
    write(wanted.folder / (name + ".json"),
          {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  std::printf("%s: %.6g operations a run\n", workload.title().c_str(), workload.operations());
  return {};
}

}  // namespace
}  // namespace fettle

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr,
                 "fettle-requests NETWORK TASK COUNT COMPUTE_CAPABILITY DRIVER FOLDER "
                 "[SEED]   (… 0 20 90 1204 requests)\n");
    return 2;
  }
  fettle::Wanted wanted;
  wanted.network = argv[1];
  wanted.task = std::strtoul(argv[2], nullptr, 10);
  wanted.count = std::atoi(argv[3]);
  wanted.target.backend = "cuda_ptx";
  wanted.target.sm = std::atoi(argv[4]), wanted.target.driver = std::atoi(argv[5]);
  wanted.target.compute_units = 132;
  wanted.folder = argv[6];
  if (argc > 7) wanted.seed = std::strtoull(argv[7], nullptr, 10);
  const auto done = fettle::write_requests(wanted);
  if (!done) std::fprintf(stderr, "fettle-requests: %s\n", done.error().text().c_str());
  return done ? 0 : 1;
}

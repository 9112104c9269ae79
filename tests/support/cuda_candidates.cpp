// Kernels for tests (cuda_candidates.h).
#include "tests/support/cuda_candidates.h"

#include <dlfcn.h>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace fettle::test {

Bytes cuda_data(const std::string& name) {
  const char* set = std::getenv("FETTLE_TEST_CUDA_DATA");
  for (const char* folder : {set, FETTLE_CUDA_DATA, FETTLE_CUDA_BUILT}) {
    std::ifstream file(std::string(folder ? folder : "") + "/" + name, std::ios::binary);
    Bytes bytes(std::istreambuf_iterator<char>(file), {});
    if (!bytes.empty()) return bytes;
  }
  return {};
}

wire::ProgramT cuda_program(const std::string& kernel, wire::Dim3 grid, wire::Dim3 block) {
  wire::ProgramT program;
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::Ptx;
  image->bytes = cuda_data("candidates.ptx");
  image->entries.push_back(std::make_unique<wire::EntryPointT>());
  image->entries[0]->name = kernel;
  program.images.push_back(std::move(image));
  auto launch = std::make_unique<wire::LaunchT>();
  launch->grid = std::make_unique<wire::Dim3>(grid);
  launch->block = std::make_unique<wire::Dim3>(block);
  program.launches.push_back(std::move(launch));
  return program;
}

wire::ProgramT cuda_candidate_program(CandidateKind kind, std::uint32_t extent) {
  // All in one image, so that launches of two programs can be put into one.
  static const CandidateKind kinds[] = {kGood, kCount, kSlow, kWriteBehind};
  static const char* const names[] = {"twice", "count", "slow", "write_behind"};
  auto program = cuda_program("twice", {(extent + 255) / 256, 1, 1}, {256, 1, 1});
  program.images[0]->entries.clear();
  for (std::uint32_t i = 0; i < std::size(kinds); ++i) {
    program.images[0]->entries.push_back(std::make_unique<wire::EntryPointT>());
    program.images[0]->entries[i]->name = names[i];
    if (kinds[i] == kind) program.launches[0]->entry = i;
  }
  for (const char* name : {"data", "result"}) {
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = name;
    buffer->bytes = kElements * sizeof(float);
    buffer->role = program.buffers.empty() ? wire::BufferRole::Input : wire::BufferRole::Output;
    if (program.buffers.empty()) {
      buffer->fill = std::make_unique<wire::FillT>();
      buffer->fill->kind = wire::FillKind::UniformReal;
      buffer->fill->low = 0.25;
      buffer->fill->high = 1;
      buffer->fill->stream = 1;
    }
    program.buffers.push_back(std::move(buffer));
  }
  program.launches[0]->args = {wire::Arg(wire::ArgKind::Buffer, 0, 0, 0, 0),
                               wire::Arg(wire::ArgKind::Buffer, 1, 0, 0, 0),
                               wire::Arg(wire::ArgKind::Int32, 0, 0, extent, 0)};
  return program;
}

std::string why_no_cuda() {
  static const std::string why = dlopen("libcuda.so.1", RTLD_NOW) ? "" : "no CUDA driver here";
  return why;
}

}  // namespace fettle::test

// Kernels for tests (opencl_candidates.h).
#include "tests/support/opencl_candidates.h"

#include <fstream>
#include <iterator>

#include "runtime/opencl/opencl_driver.h"

namespace fettle::test {
namespace {

wire::ProgramT program_over(std::uint32_t extent, std::uint32_t threads) {
  wire::ProgramT program;
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::OpenClSource;
  std::ifstream file(FETTLE_OPENCL_CANDIDATES, std::ios::binary);
  image->bytes.assign(std::istreambuf_iterator<char>(file), {});
  program.images.push_back(std::move(image));
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
  auto launch = std::make_unique<wire::LaunchT>();
  launch->grid = std::make_unique<wire::Dim3>((extent + threads - 1) / threads, 1, 1);
  launch->block = std::make_unique<wire::Dim3>(threads, 1, 1);
  launch->args = {wire::Arg(wire::ArgKind::Buffer, 0, 0, 0, 0),
                  wire::Arg(wire::ArgKind::Buffer, 1, 0, 0, 0),
                  wire::Arg(wire::ArgKind::Int32, 0, 0, extent, 0)};
  program.launches.push_back(std::move(launch));
  return program;
}

void add_entry(wire::ProgramT& program, const std::string& name) {
  program.images[0]->entries.push_back(std::make_unique<wire::EntryPointT>());
  program.images[0]->entries.back()->name = name;
}

}  // namespace

wire::ProgramT opencl_program(const std::string& kernel, std::uint32_t threads) {
  auto program = program_over(kElements, threads);
  add_entry(program, kernel);
  return program;
}

wire::ProgramT opencl_candidate_program(CandidateKind kind, std::uint32_t extent) {
  // All in one image, so that launches of two programs can be put into one.
  static const CandidateKind kinds[] = {kGood, kCount, kSlow, kWriteBehind};
  static const char* const names[] = {"twice", "count", "slow", "write_behind"};
  auto program = program_over(extent, 64);
  for (std::uint32_t i = 0; i < std::size(kinds); ++i) {
    add_entry(program, names[i]);
    if (kinds[i] == kind) program.launches[0]->entry = i;
  }
  return program;
}

std::string why_no_opencl() {
  static const std::string why = [] {
    auto driver = runtime::OpenClDriver::load("libOpenCL.so.1");
    if (!driver) return std::string("no OpenCL here");
    cl_uint platforms = 0;
    (*driver)->call().GetPlatformIDs(0, nullptr, &platforms);
    return std::string(platforms == 0 ? "no OpenCL platform here" : "");
  }();
  return why;
}

}  // namespace fettle::test

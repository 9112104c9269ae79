// Candidate programs for tests (agent_candidates.h).
#include "tests/support/agent_candidates.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include "schemas/fill/fill.h"

namespace fettle::test {
namespace {

// candidates/ flattened for that architecture; empty where the build made none.
Bytes image_bytes(const std::string& arch) {
  std::ifstream file(FETTLE_CANDIDATES "/candidates_" + arch + ".bin", std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

wire::FillT input_fill() {
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformReal;
  fill.low = 0.25;
  fill.high = 1;
  fill.stream = 1;
  return fill;
}

}  // namespace

bool have_candidates(const std::string& arch) { return !image_bytes(arch).empty(); }

wire::ProgramT candidate_program(CandidateKind kind, std::uint32_t parallel_extent,
                                 const std::string& arch) {
  wire::ProgramT program;
  auto image = std::make_unique<wire::ImageT>();
  image->bytes = image_bytes(arch);
  image->cpu = std::make_unique<wire::CpuLayoutT>();
  image->cpu->arch = arch;
  image->cpu->text_bytes = image->cpu->memory_bytes = image->bytes.size();
  image->entries.push_back(std::make_unique<wire::EntryPointT>());
  image->entries[0]->name = "entry";
  program.images.push_back(std::move(image));
  for (const char* name : {"data", "result"}) {
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = name;
    buffer->bytes = kElements * sizeof(float);
    buffer->role = program.buffers.empty() ? wire::BufferRole::Input : wire::BufferRole::Output;
    if (program.buffers.empty()) buffer->fill = std::make_unique<wire::FillT>(input_fill());
    program.buffers.push_back(std::move(buffer));
  }
  auto launch = std::make_unique<wire::LaunchT>();
  launch->parallel_extent = parallel_extent;
  launch->args = {wire::Arg(wire::ArgKind::Buffer, 0, 0, 0, 0),
                  wire::Arg(wire::ArgKind::Buffer, 1, 0, 0, 0),
                  wire::Arg(wire::ArgKind::Int, 0, 0, kind, 0)};
  program.launches.push_back(std::move(launch));
  return program;
}

Bytes candidate_answer() {
  Bytes bytes(kElements * sizeof(float));
  if (!fill_bytes(input_fill(), bytes)) return {};
  for (std::size_t i = 0; i < kElements; ++i) {
    float value;
    std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
    value *= 2;
    std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
  }
  return bytes;
}

wire::MeasureRequestT candidate_request(CandidateKind kind, const wire::Hash& blob,
                                        const std::string& arch) {
  wire::MeasureRequestT request;
  request.program = std::make_unique<wire::ProgramT>(candidate_program(kind, kElements, arch));
  request.options = std::make_unique<wire::MeasureOptionsT>();
  request.options->min_repeat_ms = 0.5;
  request.options->relative_interval = 0.2;
  request.options->timeout_ms = 300;
  request.options->retakes = 200;
  auto expected = std::make_unique<wire::ExpectedOutputT>();
  expected->buffer = 1;
  expected->dtype = wire::ScalarType::Float32;
  expected->blob = std::make_unique<wire::Hash>(blob);
  expected->absolute = 1e-6;
  request.expected.push_back(std::move(expected));
  return request;
}

}  // namespace fettle::test

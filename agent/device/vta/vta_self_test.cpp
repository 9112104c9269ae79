// VTA's self-test: one product of inputs and weights that are all 1.
#include <cstring>

#include "agent/device/vta/vta_device.h"
#include "fpga/isa/encoding.h"

namespace fettle::agent {
namespace {

using vta::Memory;

enum : std::uint32_t { kUops, kInput, kWeights, kOutput };  // buffers

void add_buffer(wire::ProgramT& program, const char* name, std::uint64_t bytes,
                wire::BufferRole role, std::int64_t value) {
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = name;
  buffer->bytes = bytes;
  buffer->role = role;
  if (role != wire::BufferRole::Output) {
    buffer->fill = std::make_unique<wire::FillT>();
    buffer->fill->kind = wire::FillKind::UniformInt;
    buffer->fill->dtype = wire::ScalarType::Int8;
    buffer->fill->low = buffer->fill->high = static_cast<double>(value);
  }
  program.buffers.push_back(std::move(buffer));
}

// One element, at the beginning of both memories.
vta::Transfer element(Memory memory) { return {memory, 0, 0, 1, 1, 1}; }

}  // namespace

SelfTestProgram vta_self_test(const wire::DeviceInfoT& info) {
  const std::string& configuration = info.fpga->configuration;
  const vta::Design design = *vta::find_design(configuration.substr(0, configuration.find(' ')));
  SelfTestProgram out;
  // Each 8-bit output is a sum of block_in products of 1.
  const Bytes outputs(design.element_bytes(Memory::Output),
                      static_cast<std::uint8_t>(design.block_in));
  out.answer.resize(outputs.size() / sizeof(float));
  std::memcpy(out.answer.data(), outputs.data(), outputs.size());

  const vta::Loops once{.uop_end = 1, .iter_out = 1, .iter_in = 1};
  const vta::Instruction stream[] = {
      {{}, vta::Load{element(Memory::Uop)}},
      {{}, vta::Load{element(Memory::Input)}},
      {{.push_next = true}, vta::Load{element(Memory::Weight)}},
      {{}, vta::Gemm{once, true}},
      {{.pop_prev = true, .push_next = true}, vta::Gemm{once}},
      {{.pop_prev = true, .push_prev = true}, vta::Store{element(Memory::Output)}},
      {{.pop_next = true}, vta::Load{{Memory::Uop}}},  // waits for the store
      {{}, vta::Finish{}},
  };
  const vta::Encoding encoding(design);
  std::vector<vta::Word> words;
  for (const vta::Instruction& each : stream) words.push_back(*encoding.encode(each));

  wire::ProgramT& program = out.program;
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::VtaStream;
  image->configuration = configuration;
  image->bytes = vta::bytes_of(words);
  image->entries.push_back(std::make_unique<wire::EntryPointT>());
  image->entries[0]->name = "multiply";
  program.images.push_back(std::move(image));
  using wire::BufferRole;
  add_buffer(program, "uops", 4, BufferRole::Constant, 0);  // entry 0 of each memory
  add_buffer(program, "input", design.element_bytes(Memory::Input), BufferRole::Input, 1);
  add_buffer(program, "weights", design.element_bytes(Memory::Weight), BufferRole::Constant, 1);
  add_buffer(program, "output", outputs.size(), BufferRole::Output, 0);
  auto launch = std::make_unique<wire::LaunchT>();
  launch->relocations = {{0, kUops, 0}, {1, kInput, 0}, {2, kWeights, 0}, {5, kOutput, 0}};
  program.launches.push_back(std::move(launch));
  return out;
}

}  // namespace fettle::agent

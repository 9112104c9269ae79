// Facts about programs (program_facts.h).
#include "host/network/program_facts.h"

#include <algorithm>

namespace fettle::network {
namespace {

// What an accelerator reads and writes begins at multiples of a page (kVtaBufferAlignment).
constexpr std::uint32_t kStreamAlignment = 4096;

bool is_stream(const wire::ProgramT& program) {
  return std::all_of(program.images.begin(), program.images.end(),
                     [](const auto& image) { return image->kind == wire::ImageKind::VtaStream; });
}

}  // namespace

bool is_texels(wire::ArgKind kind) {
  return kind == wire::ArgKind::TexelsFloat16 || kind == wire::ArgKind::TexelsFloat32;
}

bool is_buffer(wire::ArgKind kind) { return kind == wire::ArgKind::Buffer || is_texels(kind); }

std::vector<Use> uses_of(const wire::ProgramT& program) {
  std::vector<Use> uses(program.buffers.size());
  for (const auto& launch : program.launches) {
    const auto note = [&](std::uint32_t buffer) {
      (launch->phase == wire::Phase::Prepare ? uses[buffer].prepare : uses[buffer].run) = true;
    };
    for (const wire::Arg& arg : launch->args) {
      if (is_buffer(arg.kind())) note(arg.buffer());
    }
    for (const wire::Relocation& relocation : launch->relocations) note(relocation.buffer());
  }
  return uses;
}

bool takes_parts(const wire::ProgramT& program) {
  return std::all_of(program.images.begin(), program.images.end(), [](const auto& image) {
    return image->kind == wire::ImageKind::CpuImage || image->kind == wire::ImageKind::VtaStream;
  });
}

std::uint32_t alignment_of(const wire::BufferT& buffer, const wire::ProgramT& program) {
  return is_stream(program) ? std::max(buffer.alignment, kStreamAlignment) : buffer.alignment;
}

bool reads_texels(const wire::ProgramT& program) {
  return std::any_of(program.launches.begin(), program.launches.end(), [](const auto& launch) {
    return std::any_of(launch->args.begin(), launch->args.end(),
                       [](const wire::Arg& arg) { return is_texels(arg.kind()); });
  });
}

std::uint64_t texel_bytes(const wire::ProgramT& program, std::size_t buffer) {
  std::uint64_t least = 0;
  for (const auto& launch : program.launches) {
    for (const wire::Arg& arg : launch->args) {
      if (!is_texels(arg.kind()) || arg.buffer() != buffer) continue;
      const std::uint64_t bytes = arg.kind() == wire::ArgKind::TexelsFloat16 ? 8 : 16;
      least = least == 0 ? bytes : std::min(least, bytes);
    }
  }
  return least;
}

}  // namespace fettle::network

// Bounds of launches and their arguments (check_launch.h).
#include "schemas/wire/check_launch.h"

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "schemas/wire/limits.h"

namespace fettle {
namespace {

Error bad(std::string what) { return {ErrorCode::Malformed, std::move(what)}; }

// Which fields mean something for an image of that kind; the others must be absent.
struct Rule {
  wire::ImageKind kind;
  bool launched;       // has entry points that run
  bool parallel_loop;  // parallel_extent
  bool blocks;         // grid, block and shared_bytes
  bool instructions;   // relocations, and no arguments: its streams have no others
};
constexpr Rule kRules[] = {
    {wire::ImageKind::CpuImage, true, true, false, false},
    {wire::ImageKind::OpenClSource, true, false, true, false},
    {wire::ImageKind::Ptx, true, false, true, false},
    {wire::ImageKind::Cubin, true, false, true, false},
    {wire::ImageKind::VtaStream, true, false, false, true},
    {wire::ImageKind::Bitstream, false, false, false, false},
    {wire::ImageKind::Xclbin, true, false, false, false},
    {wire::ImageKind::Extension, true, false, false, false},
};
static_assert(std::size(kRules) == static_cast<std::size_t>(wire::ImageKind::MAX) + 1);

bool in_range(const wire::Dim3& dim, std::uint32_t most) {
  return dim.x() - 1 < most && dim.y() - 1 < most && dim.z() - 1 < most;  // 0 wraps around
}

Result<void> check_blocks(const wire::LaunchT& launch, const std::string& where) {
  if (!launch.grid || !launch.block) return bad(where + " has no grid or no block");
  if (!in_range(*launch.grid, limits::kGridExtent)) return bad(where + " has a grid out of range");
  const wire::Dim3& block = *launch.block;
  if (!in_range(block, limits::kBlockThreads) ||
      std::uint64_t{block.x()} * block.y() * block.z() > limits::kBlockThreads) {
    return bad(where + " has a block out of range");
  }
  if (launch.shared_bytes > limits::kSharedBytes) {
    return bad(where + " has too much shared memory");
  }
  return {};
}

Result<void> check_arg(const wire::ProgramT& program, const wire::Arg& arg,
                       const std::string& where) {
  using wire::ArgKind;
  if (arg.kind() > ArgKind::MAX) return bad(where + " has an unknown argument kind");
  if (arg.kind() == ArgKind::Buffer) {
    if (arg.buffer() >= program.buffers.size() ||
        arg.offset() >= program.buffers[arg.buffer()]->bytes) {
      return bad(where + " has an argument outside of its buffer");
    }
    if (arg.int_value() != 0 || !(arg.real_value() == 0)) {
      return bad(where + " has a buffer argument with a value");
    }
    return {};
  }
  if (arg.buffer() != 0 || arg.offset() != 0) {
    return bad(where + " has a scalar argument with a place in a buffer");
  }
  const bool real = arg.kind() == ArgKind::Real || arg.kind() == ArgKind::Float32 ||
                    arg.kind() == ArgKind::Float64;
  if (real ? arg.int_value() != 0 : !(arg.real_value() == 0)) {
    return bad(where + " has a scalar argument with a value of another kind");
  }
  if (arg.kind() == ArgKind::Int32 &&
      (arg.int_value() < INT32_MIN || arg.int_value() > INT32_MAX)) {
    return bad(where + " has a 32-bit argument that needs more");
  }
  if (arg.kind() == ArgKind::Float32 && std::isfinite(arg.real_value()) &&
      std::fabs(arg.real_value()) > FLT_MAX) {
    return bad(where + " has a 32-bit argument that needs more");
  }
  return {};
}

// Of the entry's stream, whose end is not known where the image is a blob.
std::uint64_t instructions_of(const wire::ImageT& image, std::uint32_t entry) {
  const std::uint64_t begin = image.entries[entry]->offset;
  std::uint64_t end = image.bytes.empty() ? limits::kImageBytes : image.bytes.size();
  if (entry + std::size_t{1} < image.entries.size()) end = image.entries[entry + 1]->offset;
  return (end - begin) / limits::kVtaInstructionBytes;
}

Result<void> check_relocations(const wire::ProgramT& program, const wire::LaunchT& launch,
                               const std::string& where) {
  if (launch.relocations.size() > limits::kRelocations) {
    return bad(where + " has too many relocations");
  }
  const std::uint64_t instructions = instructions_of(*program.images[launch.image], launch.entry);
  std::uint64_t after = 0;
  for (const wire::Relocation& relocation : launch.relocations) {
    if (relocation.instruction() >= instructions) {
      return bad(where + " has a relocation outside of its instructions");
    }
    if (relocation.instruction() < after) {
      return bad(where + " has relocations that are not in the order of their instructions");
    }
    after = std::uint64_t{relocation.instruction()} + 1;
    if (relocation.buffer() >= program.buffers.size() ||
        relocation.offset() >= program.buffers[relocation.buffer()]->bytes) {
      return bad(where + " has a relocation outside of its buffer");
    }
  }
  return {};
}

}  // namespace

Result<void> check_launch(const wire::ProgramT& program, const wire::LaunchT& launch,
                          const std::string& where) {
  if (launch.image >= program.images.size()) return bad(where + " names no image");
  const wire::ImageT& image = *program.images[launch.image];
  if (launch.entry >= image.entries.size()) return bad(where + " names no entry point");
  const Rule& rule = kRules[static_cast<std::size_t>(image.kind)];
  const std::string kind = wire::EnumNameImageKind(image.kind);
  if (!rule.launched) return bad(where + " runs a " + kind + ", which does not run");
  if (launch.phase > wire::Phase::MAX) return bad(where + " has an unknown phase");
  if (launch.args.size() > limits::kArgs) {
    return Error{ErrorCode::TooLarge, where + " has too many arguments"};
  }
  if (launch.parallel_extent == 0 || launch.parallel_extent > limits::kParallelExtent ||
      (!rule.parallel_loop && launch.parallel_extent != 1)) {
    return bad(where + " has a parallel extent out of range");
  }
  if (rule.blocks) {
    if (auto checked = check_blocks(launch, where); !checked) return checked;
  } else if (launch.grid || launch.block || launch.shared_bytes != 0) {
    return bad(where + " has a grid, which is nothing for a " + kind);
  }
  if (!rule.instructions && !launch.relocations.empty()) {
    return bad(where + " has relocations, which are nothing for a " + kind);
  }
  if (rule.instructions && !launch.args.empty()) {
    return bad(where + " has arguments, which are nothing for a " + kind);
  }
  for (const wire::Arg& arg : launch.args) {
    if (auto checked = check_arg(program, arg, where); !checked) return checked;
  }
  return rule.instructions ? check_relocations(program, launch, where) : Result<void>();
}

}  // namespace fettle

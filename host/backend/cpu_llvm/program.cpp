// ir::Module → wire::Program: compile, link, flatten, and say what is launched.
#include "host/backend/cpu_llvm/program.h"

#include <algorithm>

#include "host/backend/cpu_llvm/codegen.h"
#include "host/backend/cpu_llvm/disassemble.h"
#include "host/backend/cpu_llvm/flatten.h"
#include "host/backend/cpu_llvm/link.h"
#include "host/backend/cpu_llvm/runtime.h"
#include "host/space/wire_types.h"

namespace fettle::backend::cpu_llvm {
namespace {

std::unique_ptr<wire::BufferT> wire_buffer(const ir::ProgramBuffer& from) {
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = from.buffer->name;
  buffer->bytes = static_cast<std::uint64_t>(from.buffer->elements()) *
                  static_cast<std::uint64_t>(from.buffer->type.bytes());
  buffer->alignment = from.buffer->alignment;
  buffer->role = space::wire_role(from.role);
  buffer->fill = std::make_unique<wire::FillT>();
  buffer->fill->kind = space::wire_kind(from.fill.kind);
  buffer->fill->dtype = space::wire_type(from.buffer->type.scalar);
  buffer->fill->low = from.fill.low;
  buffer->fill->high = from.fill.high;
  buffer->fill->stream = from.fill.stream;
  return buffer;
}

// Holds only what the CPU has, of the instructions that not every CPU of its kind has.
Result<void> check_instructions(const wire::ImageT& image, const space::CpuTarget& target) {
  Result<std::vector<Instruction>> code = disassemble(image, target);
  if (!code) return std::move(code).error();
  const bool dots = target.sums_of_byte_products() != nullptr;
  for (const Instruction& each : *code) {
    const char* lacks = nullptr;
    if (!target.fma && is_fused(target.arch, each.mnemonic)) lacks = "fused multiply-add";
    if (!dots && is_dot_product(target.arch, each.mnemonic)) lacks = "dot product of bytes";
    if (lacks) {
      return Error{ErrorCode::Internal, "the image holds " + each.mnemonic + " at offset " +
                                            std::to_string(each.offset) + ", and " + target.cpu +
                                            " has no " + lacks};
    }
  }
  return {};
}

bool computes_in_bytes(const ir::Module& module) {
  return std::any_of(module.buffers.begin(), module.buffers.end(),
                     [](const auto& b) { return b.buffer->type.scalar == ir::Scalar::Int8; });
}

}  // namespace

Result<wire::ImageT> make_image(const ir::Module& module, const space::CpuTarget& target) {
  Result<Object> object = compile_object(module, target);
  if (!object) return std::move(object).error();
  Result<std::shared_ptr<const std::vector<std::uint8_t>>> runtime = runtime_object(target);
  if (!runtime) return std::move(runtime).error();
  const std::span<const std::uint8_t> objects[] = {object->bytes, **runtime};
  Result<std::vector<std::uint8_t>> linked = link_shared_object(objects, target);
  if (!linked) return std::move(linked).error();
  std::vector<std::string> names;
  for (const ir::Function& function : module.functions) names.push_back(function.name);
  Result<wire::ImageT> image = flatten(*linked, target, names);
  if (!image) return image;
  if (!target.fma || (!target.sums_of_byte_products() && computes_in_bytes(module))) {
    if (Result<void> clean = check_instructions(*image, target); !clean) {
      return std::move(clean).error();
    }
  }
  return image;
}

Result<wire::ProgramT> make_program(const ir::Module& module, const space::CpuTarget& target) {
  Result<wire::ImageT> image = make_image(module, target);
  if (!image) return std::move(image).error();
  wire::ProgramT program;
  program.target = target.triple.empty() ? target.arch : target.triple;
  program.images.push_back(std::make_unique<wire::ImageT>(std::move(*image)));
  for (const ir::ProgramBuffer& buffer : module.buffers)
    program.buffers.push_back(wire_buffer(buffer));
  for (const ir::Launch& from : module.launches) {
    const ir::Function& function = module.functions[static_cast<std::size_t>(from.function)];
    auto launch = std::make_unique<wire::LaunchT>();
    launch->entry = static_cast<std::uint32_t>(from.function);
    for (int buffer : from.buffers) {
      launch->args.emplace_back(wire::ArgKind::Buffer, static_cast<std::uint32_t>(buffer), 0, 0,
                                0.0);
    }
    launch->phase = from.prepare ? wire::Phase::Prepare : wire::Phase::Run;
    launch->parallel_extent = static_cast<std::uint32_t>(function.extent);
    // Scratch per thread was laid out for the target's threads.
    if (function.thread) program.max_threads = static_cast<std::uint32_t>(target.threads);
    program.launches.push_back(std::move(launch));
  }
  return program;
}

}  // namespace fettle::backend::cpu_llvm

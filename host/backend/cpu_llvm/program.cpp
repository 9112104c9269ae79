// ir::Module → wire::Program: compile, link, flatten, and say what is launched.
#include "host/backend/cpu_llvm/program.h"

#include <algorithm>

#include "host/backend/cpu_llvm/codegen.h"
#include "host/backend/cpu_llvm/disassemble.h"
#include "host/backend/cpu_llvm/flatten.h"
#include "host/backend/cpu_llvm/link.h"
#include "host/backend/cpu_llvm/runtime.h"
#include "host/backend/cpu_llvm/system_calls.h"
#include "host/backend/module_program.h"

namespace fettle::backend::cpu_llvm {
namespace {

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

Result<wire::ImageT> link_image(std::span<const std::span<const std::uint8_t>> objects,
                                std::span<const std::string> names, const space::CpuTarget& target,
                                bool bytes) {
  Result<std::shared_ptr<const std::vector<std::uint8_t>>> runtime = runtime_object(target);
  if (!runtime) return std::move(runtime).error();
  std::vector<std::span<const std::uint8_t>> all(objects.begin(), objects.end());
  all.push_back(**runtime);
  Result<std::vector<std::uint8_t>> linked = link_shared_object(all, target);
  if (!linked) return std::move(linked).error();
  Result<wire::ImageT> image = flatten(*linked, target, names);
  if (!image) return image;
  if (Result<void> quiet = check_no_system_calls(*image, target); !quiet) {
    return std::move(quiet).error();
  }
  if (!target.fma || (bytes && !target.sums_of_byte_products())) {
    if (Result<void> clean = check_instructions(*image, target); !clean) {
      return std::move(clean).error();
    }
  }
  return image;
}

Result<wire::ImageT> make_image(const ir::Module& module, const space::CpuTarget& target,
                                Compiler& compiler) {
  Result<std::vector<std::shared_ptr<const Object>>> compiled = compiler.compile(module);
  if (!compiled) return std::move(compiled).error();
  std::vector<std::span<const std::uint8_t>> objects;
  for (const auto& object : *compiled) objects.push_back(object->bytes);
  std::vector<std::string> names;
  for (const ir::Function& function : module.functions) names.push_back(function.name);
  return link_image(objects, names, target, computes_in_bytes(module));
}

Result<wire::ProgramT> make_program(const ir::Module& module, const space::CpuTarget& target,
                                    Compiler& compiler) {
  Result<wire::ImageT> image = make_image(module, target, compiler);
  if (!image) return std::move(image).error();
  wire::ProgramT program = module_program(module);
  program.target = target.triple.empty() ? target.arch : target.triple;
  program.images.push_back(std::make_unique<wire::ImageT>(std::move(*image)));
  // Scratch per thread was laid out for the target's threads.
  for (const ir::Function& function : module.functions) {
    if (function.thread) program.max_threads = static_cast<std::uint32_t>(target.threads);
  }
  return program;
}

Result<wire::ImageT> make_image(const ir::Module& module, const space::CpuTarget& target) {
  Result<std::unique_ptr<Compiler>> compiler = Compiler::make(target);
  if (!compiler) return std::move(compiler).error();
  return make_image(module, target, **compiler);
}

Result<wire::ProgramT> make_program(const ir::Module& module, const space::CpuTarget& target) {
  Result<std::unique_ptr<Compiler>> compiler = Compiler::make(target);
  if (!compiler) return std::move(compiler).error();
  return make_program(module, target, **compiler);
}

}  // namespace fettle::backend::cpu_llvm

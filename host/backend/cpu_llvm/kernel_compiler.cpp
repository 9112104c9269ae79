// C to images: entry points around the functions, clang, our linker (kernel_compiler.h).
#include "host/backend/cpu_llvm/kernel_compiler.h"

#include <cstdlib>
#include <sstream>

#include "host/backend/cpu_llvm/disassemble.h"
#include "host/backend/cpu_llvm/program.h"
#include "host/process/run_program.h"

namespace fettle::backend::cpu_llvm {
namespace {

using space::KernelArgument;
using space::KernelLaunch;
using space::OwnKernel;

constexpr std::chrono::seconds kLimit{50};  // below that of a build (build_pool.h)

std::string find_clang() {
  if (const char* named = std::getenv("FETTLE_CLANG")) return process::find_program(named);
  for (const char* name : {"clang-19", "clang"}) {
    if (std::string found = process::find_program(name); !found.empty()) return found;
  }
  return "";
}

std::string entry_name(std::size_t entry) { return "fettle_entry_" + std::to_string(entry); }

// An entry point as the agent calls it (program.fbs): arguments by address.
std::string entry_point(const OwnKernel& kernel, const KernelLaunch& launch,
                        const std::string& name) {
  std::string call;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[launch.arguments[i]];
    const std::string place = "fettle_arguments[" + std::to_string(i) + "]";
    call += (i > 0 ? ", " : "");
    call += argument.value
                ? "*(const " + std::string(space::c_type(argument.type.scalar)) + "*)" + place
                : place;
  }
  if (!launch.parallel.empty())
    call += std::string(call.empty() ? "" : ", ") + "fettle_begin, fettle_end";
  return "void " + name +
         "(void* const* fettle_arguments, int fettle_begin, int fettle_end, int fettle_thread) {\n"
         "  " +
         launch.entry + "(" + call + ");\n}\n";
}

class CKernelCompiler final : public KernelCompiler {
 public:
  explicit CKernelCompiler(const space::CpuTarget& target)
      : target_(target), clang_(find_clang()) {}

  Result<wire::ImageT> compile(const OwnKernel& kernel, const space::KernelPoint& point,
                               const std::vector<std::string>& entries) const override {
    const auto object = object_of(kernel, point, entries);
    if (!object) return object.error();
    std::vector<std::string> names;
    for (std::size_t e = 0; e < entries.size(); ++e) names.push_back(entry_name(e));
    const std::span<const std::uint8_t> objects[] = {*object};
    auto image = link_image(objects, names, target_, /*bytes=*/true);
    if (!image && image.error().code == ErrorCode::BuildError) {
      return std::move(image).error().in("linking " + kernel.source.file +
                                         ", which finds no library on a board; what is an "
                                         "instruction there is clang's __builtin_fabsf() and such");
    }
    return image;
  }

  Result<std::string> listing(const OwnKernel& kernel, const space::KernelPoint& point,
                              const std::vector<std::string>& entries) const override {
    const auto image = compile(kernel, point, entries);
    if (!image) return image.error();
    const auto code = disassemble(*image, target_);
    if (!code) return code.error();
    return "--- assembly\n" + to_text(*code);
  }

 private:
  std::vector<std::string> words_for(const OwnKernel& kernel, const std::string& source,
                                     const std::string& object) const {
    std::vector<std::string> words = {clang_,
                                      "--target=" + target_.triple,
                                      "-c",
                                      "-O3",
                                      "-fPIC",
                                      "-ffreestanding",
                                      "-fno-stack-protector",
                                      "-fno-asynchronous-unwind-tables",
                                      "-fvisibility=hidden"};
    const auto inner = [&](const std::string& option, const std::string& value) {
      words.insert(words.end(), {"-Xclang", option, "-Xclang", value});
    };
    if (!target_.cpu.empty()) inner("-target-cpu", target_.cpu);
    for (const std::string& feature : target_.features) inner("-target-feature", feature);
    std::istringstream more(kernel.options);
    for (std::string word; more >> word;) words.push_back(word);
    words.insert(words.end(), {"-o", object, source});
    return words;
  }

  Result<std::vector<std::uint8_t>> object_of(const OwnKernel& kernel,
                                              const space::KernelPoint& point,
                                              const std::vector<std::string>& entries) const {
    if (clang_.empty()) {
      return Error{ErrorCode::NotFound,
                   "there is no clang here, which compiles C for " + target_.triple +
                       ": install it (Debian: clang-19), or name it by FETTLE_CLANG"};
    }
    std::string text =
        space::text_with_defines(kernel.source, point.defines) + "\n#line 1 \"(fettle's calls)\"\n";
    for (std::size_t e = 0; e < entries.size(); ++e) {
      for (const KernelLaunch& launch : kernel.launches) {
        if (launch.entry != entries[e]) continue;
        text += "__attribute__((visibility(\"default\"))) " +
                entry_point(kernel, launch, entry_name(e));
        break;
      }
    }
    const process::ScratchFolder scratch;
    const std::string source = scratch.file("kernel.c"), object = scratch.file("kernel.o");
    if (!scratch.there() || !process::write_file(source, text)) {
      return Error{ErrorCode::Io, "no temporary file for clang can be written"};
    }
    process::RunPlan plan;
    plan.argv = words_for(kernel, source, object);
    plan.limit = kLimit;
    const auto ran = process::run_program(plan);
    if (!ran) return ran.error();
    if (ran->status != 0) return Error{ErrorCode::BuildError, "clang: " + ran->said};
    const std::string bytes = process::read_file(object);
    return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
  }

  space::CpuTarget target_;
  std::string clang_;
};

}  // namespace

std::unique_ptr<const KernelCompiler> make_kernel_compiler(space::KernelLanguage language,
                                                           const space::CpuTarget& target) {
  if (language != space::KernelLanguage::C) return nullptr;
  return std::make_unique<CKernelCompiler>(target);
}

}  // namespace fettle::backend::cpu_llvm

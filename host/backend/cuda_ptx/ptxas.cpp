// Running ptxas (ptxas.h).
#include "host/backend/cuda_ptx/ptxas.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "host/process/run_program.h"

namespace fettle::backend::cuda_ptx {
namespace {

std::string place_of_ptxas() {
  if (const char* named = std::getenv("FETTLE_PTXAS")) return named;
  const std::string found = process::find_program("ptxas");
  return found.empty() ? process::find_program("/usr/local/cuda/bin/ptxas") : found;
}

// 1300 of "…, release 13.0, V13.0.88"; 0: it says no such thing.
int toolkit_version(const std::string& said) {
  const std::size_t at = said.find("release ");
  int major = 0, minor = 0;
  if (at == std::string::npos || std::sscanf(&said[at], "release %d.%d", &major, &minor) != 2) {
    return 0;
  }
  return major * 100 + minor;
}

}  // namespace

const Ptxas* find_ptxas() {
  static const Ptxas found = [] {
    Ptxas ptxas{place_of_ptxas()};
    if (ptxas.path.empty()) return ptxas;
    const auto ran = process::run_program({{ptxas.path, "--version"}, "", ""});
    if (ran) ptxas.cuda = toolkit_version(ran->said);
    return ptxas;
  }();
  return found.cuda > 0 ? &found : nullptr;
}

std::vector<KernelFacts> read_report(const std::string& report) {
  std::vector<KernelFacts> kernels;
  std::stringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    std::array<char, 256> name{};
    const char* at = nullptr;
    if (const auto entry = line.find("entry function '"); entry != std::string::npos) {
      std::sscanf(&line[entry], "entry function '%255[^']'", name.data());
      kernels.push_back({name.data()});
    }
    if (kernels.empty()) continue;
    KernelFacts& kernel = kernels.back();
    long long stack = 0, stores = 0, loads = 0;
    if (std::sscanf(line.c_str(), " %lld bytes stack frame, %lld bytes spill stores, %lld bytes",
                    &stack, &stores, &loads) == 3) {
      kernel.stack_bytes = stack, kernel.spill_store_bytes = stores;
      kernel.spill_load_bytes = loads;
    }
    if (const auto used = line.find("Used "); used != std::string::npos) {
      std::sscanf(&line[used], "Used %d registers", &kernel.registers);
      const auto shared = line.find(" bytes smem");
      if (shared != std::string::npos) {
        std::size_t begin = shared;
        while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
        at = &line[begin];
        kernel.shared_bytes = std::atoll(at);
      }
    }
  }
  return kernels;
}

Result<Assembled> assemble(const std::string& ptx, const space::GpuTarget& target) {
  const Ptxas* ptxas = find_ptxas();
  if (ptxas == nullptr) return Error{ErrorCode::Unsupported, "there is no ptxas here"};
  const process::ScratchFolder scratch;
  const std::string text = scratch.file("candidate.ptx"), cubin = scratch.file("candidate.cubin");
  if (!scratch.there() || !process::write_file(text, ptx)) {
    return Error{ErrorCode::Internal, "no file for ptxas can be made"};
  }
  const auto ran = process::run_program(
      {{ptxas->path, "-v", "-arch=sm_" + std::to_string(target.sm), text, "-o", cubin}, "", ""});
  if (!ran) return Error{ErrorCode::BuildError, ran.error().message};
  if (ran->status != 0) {
    const bool unknown =
        ran->said.find("is not defined for option 'gpu-name'") != std::string::npos;
    return Error{unknown ? ErrorCode::Unsupported : ErrorCode::BuildError, "ptxas: " + ran->said};
  }
  Assembled out;
  const std::string bytes = process::read_file(cubin);
  out.cubin.assign(bytes.begin(), bytes.end());
  out.kernels = read_report(ran->said);
  return out;
}

std::string ptxas_text(const std::string& ptx, const space::GpuTarget& target) {
  const Result<Assembled> assembled = assemble(ptx, target);
  if (!assembled) return assembled.error().message + "\n";
  std::string text;
  for (const KernelFacts& kernel : assembled->kernels) {
    text += kernel.name + ": " + std::to_string(kernel.registers) + " registers, " +
            std::to_string(kernel.spill_store_bytes) + " bytes spilled, " +
            std::to_string(kernel.spill_load_bytes) + " read back, " +
            std::to_string(kernel.stack_bytes) + " bytes of stack, " +
            std::to_string(kernel.shared_bytes) + " bytes shared\n";
  }
  return text;
}

}  // namespace fettle::backend::cuda_ptx

// Running ptxas (ptxas.h).
#include "host/backend/cuda_ptx/ptxas.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "host/backend/cuda_ptx/toolkits.h"
#include "host/process/run_program.h"

namespace fettle::backend::cuda_ptx {
namespace {

std::vector<std::string> places() {
  if (const char* named = std::getenv("FETTLE_PTXAS")) return {named};
  std::vector<std::string> places{process::find_program("ptxas")};
  for (const auto& toolkit : toolkits()) places.push_back(toolkit / "bin" / "ptxas");
  std::erase_if(places, [](const std::string& path) { return access(path.c_str(), X_OK) != 0; });
  return places;
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

// 75, 80, … of its help's 'sm_75','sm_80','sm_90a': those that name no variant.
std::vector<int> capabilities_in(const std::string& help) {
  std::vector<int> capabilities;
  for (std::size_t at = 0; (at = help.find("'sm_", at)) != std::string::npos; ++at) {
    int capability = 0, end = 0;
    const char* digits = &help[at + 4];
    if (std::sscanf(digits, "%d%n", &capability, &end) == 1 && digits[end] == '\'') {
      capabilities.push_back(capability);
    }
  }
  return capabilities;
}

std::optional<Ptxas> asked(const std::string& path) {
  Ptxas ptxas{path};
  const auto version = process::run_program({{path, "--version"}, "", ""}),
             help = process::run_program({{path, "--help"}, "", ""});
  if (!version || !help) return std::nullopt;
  ptxas.cuda = toolkit_version(version->said);
  ptxas.capabilities = capabilities_in(help->said);
  if (ptxas.cuda == 0 || ptxas.capabilities.empty()) return std::nullopt;
  return ptxas;
}

}  // namespace

std::span<const Ptxas> ptxas_here() {
  static const std::vector<Ptxas> found = [] {
    std::vector<Ptxas> found;
    for (const std::string& path : places()) {
      if (auto ptxas = asked(path)) found.push_back(std::move(*ptxas));
    }
    return found;
  }();
  return found;
}

const Ptxas* ptxas_for(const space::GpuTarget& target) {
  const Ptxas* best = nullptr;
  for (const Ptxas& ptxas : ptxas_here()) {
    if (std::ranges::find(ptxas.capabilities, target.sm) == ptxas.capabilities.end()) continue;
    const bool loads = ptxas.cuda <= target.driver,
               best_loads = best && best->cuda <= target.driver;
    if (!best || (loads && !best_loads) || (loads == best_loads && ptxas.cuda > best->cuda)) {
      best = &ptxas;
    }
  }
  return best;
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
  const Ptxas* ptxas = ptxas_for(target);
  if (ptxas == nullptr) {
    return Error{ErrorCode::Unsupported,
                 (ptxas_here().empty() ? "there is no ptxas here"
                                       : "no ptxas here knows sm_" + std::to_string(target.sm)) +
                     std::string(" (./dev setup cuda brings some)")};
  }
  const process::ScratchFolder scratch;
  const std::string text = scratch.file("candidate.ptx"), cubin = scratch.file("candidate.cubin");
  if (!scratch.there() || !process::write_file(text, ptx)) {
    return Error{ErrorCode::Internal, "no file for ptxas can be made"};
  }
  const auto ran = process::run_program(
      {{ptxas->path, "-v", "-arch=sm_" + std::to_string(target.sm), text, "-o", cubin}, "", ""});
  if (!ran) return Error{ErrorCode::BuildError, ran.error().message};
  if (ran->status != 0) return Error{ErrorCode::BuildError, "ptxas: " + ran->said};
  Assembled out;
  out.cuda = ptxas->cuda;
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

// The agent's figures (agent_bench.h).
#include "tests/bench/agent_bench.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "host/fleet/broker_question.h"
#include "tests/bench/agent_process.h"
#include "tests/bench/elf_facts.h"
#include "tests/bench/process_memory.h"
#include "tests/bench/trial_times.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kMiB = 1024.0 * 1024.0;

struct RunFigures {
  std::vector<double> registered_ms;
  std::vector<ProcessMemory> memory;  // of the last start, idle
};

Result<RunFigures> measure_starts(const fs::path& program, const AgentBenchOptions& options) {
  RunFigures figures;
  for (unsigned i = 0; i < options.starts; ++i) {
    // A broker of its own each time: no start finds anything left by the one before.
    Result<std::unique_ptr<PrivateFleet>> fleet = PrivateFleet::start();
    if (!fleet) return std::move(fleet).error();
    // The first answer of a broker takes its handshake; the agent shall not pay for it.
    Result<wire::DeviceListT> warm =
        fleet::list_devices((*fleet)->address(), std::chrono::milliseconds(2000));
    if (!warm) return std::move(warm).error();
    const auto start = std::chrono::steady_clock::now();
    Result<pid_t> pid = (*fleet)->start_agent(program, "bench", {});
    if (!pid) return std::move(pid).error();
    Result<wire::DeviceInfoT> device = (*fleet)->wait_for("bench", std::chrono::seconds(10));
    if (!device) return std::move(device).error();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    figures.registered_ms.push_back(took.count());
    if (i + 1 < options.starts) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(options.settle_ms));
    figures.memory = memory_of(*pid);
  }
  return figures;
}

}  // namespace

Result<void> run_agent_bench(const AgentBenchOptions& options) {
  const fs::path folder =
      options.agents.empty() ? default_agents_folder() : fs::path(options.agents);
  Json summary = {{"benchmark", "agent"}, {"summary", true}};
  bool all_static = true, native_seen = false;
  std::size_t found = 0;
  std::uint64_t largest = 0;
  for (const char* arch : {"x86_64", "aarch64", "armv7"}) {
    const fs::path program = folder / arch / "fettle-agent";
    if (!fs::exists(program)) continue;
    ++found;
    Result<ElfFacts> elf = read_elf(program.string());
    if (!elf) return std::move(elf).error();
    all_static = all_static && elf->is_static();
    largest = std::max(largest, elf->stripped_bytes);
    Json line = {{"benchmark", "agent"},         {"arch", arch},
                 {"program", program.string()},  {"machine", elf->machine},
                 {"static", elf->is_static()},   {"needed", elf->needed},
                 {"stripped", elf->stripped},    {"size_bytes", elf->stripped_bytes},
                 {"file_bytes", elf->file_bytes}};
    if (!options.json) {
      std::printf("%-8s  %s, %.2f MiB%s\n", arch, elf->is_static() ? "static" : "NOT static",
                  elf->stripped_bytes / kMiB, elf->stripped ? "" : " without its symbols");
    }
    if (arch == native_arch()) {
      native_seen = true;
      Result<RunFigures> run = measure_starts(program, options);
      if (!run) return std::move(run).error();
      std::uint64_t resident = 0;
      Json processes = Json::array();
      for (const ProcessMemory& process : run->memory) {
        resident += process.resident_bytes;
        processes.push_back({{"name", process.name}, {"rss_bytes", process.resident_bytes}});
      }
      const double registered = median_of(run->registered_ms);
      line["rss_bytes"] = summary["rss_bytes"] = resident;
      line["processes"] = processes;
      line["supervisor_rss_bytes"] = summary["supervisor_rss_bytes"] =
          run->memory.empty() ? 0 : run->memory.front().resident_bytes;
      line["registered_ms"] = summary["registered_ms"] = registered;
      line["registered_ms_all"] = run->registered_ms;
      if (!options.json) {
        std::printf("          idle: %.2f MiB in %zu processes:", resident / kMiB,
                    run->memory.size());
        for (const ProcessMemory& p : run->memory)
          std::printf(" %s %.2f", p.name.c_str(), p.resident_bytes / kMiB);
        std::printf("\n          start to registered: %.1f ms (median of %u)\n", registered,
                    options.starts);
      }
    }
    if (options.json) std::cout << line.dump() << std::endl;
  }
  if (found == 0) {
    return Error{ErrorCode::NotFound,
                 "no agents under '" + folder.string() + "': './dev agents' builds them",
                 {}};
  }
  summary["architectures"] = found;
  summary["static"] = all_static;
  summary["size_bytes"] = largest;  // of the largest
  if (options.json) std::cout << summary.dump() << std::endl;
  if (!native_seen) {
    return Error{ErrorCode::NotFound,
                 std::string("no agent for this machine (") + native_arch() + ") under '" +
                     folder.string() + "': its memory and start could not be measured",
                 {}};
  }
  return {};
}

}  // namespace fettle::bench

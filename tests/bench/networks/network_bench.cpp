// The benchmark of whole networks: which, with how many threads, and under which conditions
// (network_bench.h).
#include "tests/bench/networks/network_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "agent/platform/conditions.h"
#include "agent/platform/cpu_facts.h"
#include "host/process/run_program.h"
#include "tests/bench/networks/network_peers.h"
#include "tests/bench/networks/network_report.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

struct Bench {
  const NetworkBenchOptions& options;
  std::map<std::string, std::string> compiled;
  std::string python;
  std::vector<int> all_cores;
};

// The last ones: the first serves interrupts.
Result<std::vector<int>> cores_of(const Bench& bench, unsigned threads) {
  const std::vector<int>& all = bench.all_cores;
  if (threads > all.size()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("--threads {}: there are {} cores", threads, all.size()),
                 {}};
  }
  if (threads == 0) return all;
  return std::vector<int>(all.end() - threads, all.end());
}

// What the processor and the system were like, over all that was timed.
class Watch {
 public:
  explicit Watch(const std::vector<int>& cores)
      : reader_(agent::SystemRoot(), {cores.begin(), cores.end()}), before_(reader_.read()) {}
  Json told() const {
    const wire::ConditionsT now = reader_.read();
    Json json{{"load_average", {before_.load_average, now.load_average}},
              {"steal_ticks", now.steal_ticks - before_.steal_ticks},
              {"throttle_events", now.throttle_events - before_.throttle_events},
              {"governor", now.governor},
              {"cpu_khz", now.cpu_khz},
              {"malloc_huge_pages", true}};
    std::string pages = process::read_file("/sys/kernel/mm/transparent_hugepage/enabled");
    while (pages.ends_with('\n')) pages.pop_back();
    json["transparent_hugepages"] = pages;
    json["cpu"] = model_name();
    return json;
  }

 private:
  static std::string model_name() {
    const std::string facts = process::read_file("/proc/cpuinfo"), key = "model name";
    const std::size_t line = facts.find(key);
    if (line == facts.npos) return "";
    const std::size_t begin = facts.find(": ", line) + 2;
    return facts.substr(begin, facts.find('\n', begin) - begin);
  }

  agent::ConditionsReader reader_;
  wire::ConditionsT before_;
};

Result<std::map<std::string, std::string>> compiled_networks(const NetworkBenchOptions& options) {
  std::map<std::string, std::string> files;
  for (const std::string& text : options.compiled) {
    const std::size_t sign = text.find('=');
    const std::string name = text.substr(0, sign);
    if (sign == text.npos || sign + 1 == text.size()) {
      return Error{ErrorCode::InvalidArgument, "--net " + text + ": NAME=FILE is wanted", {}};
    }
    if (std::find(options.networks.begin(), options.networks.end(), name) ==
        options.networks.end()) {
      return Error{ErrorCode::InvalidArgument,
                   "--net " + text + ": '" + name + "' is not among the networks",
                   {}};
    }
    files[name] = text.substr(sign + 1);
  }
  return files;
}

// The outputs that all are held to.
Result<std::vector<float>> expected_output(const Bench& bench, const ModelFiles& model) {
  const auto threads = static_cast<unsigned>(bench.all_cores.size());
  auto yardstick = NetworkContender::start(
      "onnxruntime", yardstick_command(bench.python, model, threads), bench.all_cores);
  if (!yardstick) return std::move(yardstick).error();
  (*yardstick)->wake();
  return (*yardstick)->output();
}

NetworkFigures time_network(const Bench& bench, const std::string& network, const ModelFiles& model,
                            const std::vector<float>& expected,
                            const std::map<std::string, std::string>& unconverted,
                            const std::vector<int>& cores) {
  NetworkFigures figures;
  figures.network = network;
  figures.threads = static_cast<unsigned>(cores.size());
  figures.ours.name = "fettle";
  for (const std::string& peer : bench.options.peers) {
    ContenderFigures& one = figures.peers.emplace_back();
    one.name = peer;
    if (const auto why = unconverted.find(peer); why != unconverted.end()) one.absent = why->second;
  }
  std::vector<Entrant> entrants;
  const auto file = bench.compiled.find(network);
  if (file == bench.compiled.end()) {
    figures.ours.absent = "no net.fettle was given: --net " + network + "=FILE names it";
  } else {
    entrants.push_back({our_command(file->second, model, cores), &figures.ours});
  }
  for (ContenderFigures& peer : figures.peers) {
    entrants.push_back({peer_command(bench.python, peer.name, model, figures.threads), &peer});
  }
  take_turns(entrants, expected, cores, bench.options.turns);
  return figures;
}

// With each number of threads.
Result<std::vector<NetworkFigures>> run_network(const Bench& bench, const std::string& network,
                                                const std::string& folder) {
  auto model = write_model(
      network, folder, bench.options.int8 ? model::ZooNumbers::Int8 : model::ZooNumbers::Float32);
  if (!model) return std::move(model).error();
  auto expected = expected_output(bench, *model);
  if (!expected) return std::move(expected).error().in("running onnxruntime, unoptimised");
  std::map<std::string, std::string> unconverted;
  for (const std::string& peer : bench.options.peers) {
    if (bench.options.int8 && !takes_quantized(peer)) {
      unconverted[peer] = "takes no QuantizeLinear of an ONNX file";
      continue;
    }
    if (auto made = convert_model(bench.python, peer, *model); !made) {
      unconverted[peer] = made.error().text();
    }
  }
  std::vector<NetworkFigures> all;
  for (const unsigned threads : bench.options.threads) {
    auto cores = cores_of(bench, threads);
    if (!cores) return std::move(cores).error();
    all.push_back(time_network(bench, network, *model, *expected, unconverted, *cores));
    if (bench.options.json) {
      std::cout << to_json(all.back()).dump() << std::endl;
    } else {
      print_network(all.back(), std::cout);
    }
  }
  return all;
}

void summarise_all(const Bench& bench, const std::vector<NetworkFigures>& figures,
                   const Json& conditions) {
  for (const NetworksSummary& summary : summarise(figures)) {
    if (!bench.options.json) {
      print_summary(summary, std::cout);
      continue;
    }
    Json json = to_json(summary);
    json["benchmark"] = "networks";
    json["summary"] = true;
    json["output_bound"] = bench.options.turns.bound;
    json["numbers"] = bench.options.int8 ? "int8" : "float32";
    json["conditions"] = conditions;
    std::cout << json.dump() << std::endl;
  }
  if (bench.options.json) return;
  std::cout << fmt::format(
      "Medians of {} turns of about {:.0f} ms, {} starts; ratio: the peer's time over ours. "
      "Outputs "
      "within {:.0e} of\nthe largest of onnxruntime's without optimisations.\nConditions: {}\n",
      bench.options.turns.starts * bench.options.turns.rounds, bench.options.turns.slice_ms,
      bench.options.turns.starts, bench.options.turns.bound, conditions.dump());
}

}  // namespace

Result<void> run_network_bench(const NetworkBenchOptions& options) {
  Bench bench{options, {}, options.python, {}};
  for (const std::uint32_t core : agent::usable_cores()) {
    bench.all_cores.push_back(static_cast<int>(core));
  }
  auto compiled = compiled_networks(options);
  if (!compiled) return std::move(compiled).error();
  bench.compiled = std::move(*compiled);
  for (const unsigned threads : options.threads) {
    if (auto cores = cores_of(bench, threads); !cores) return std::move(cores).error();
  }
  if (bench.python.empty()) {
    auto python = python_with_peers();
    if (!python) return std::move(python).error();
    bench.python = std::move(*python);
  }
  const Watch watch(bench.all_cores);
  std::vector<NetworkFigures> figures;
  for (const std::string& network : options.networks) {
    const process::ScratchFolder scratch;
    auto done = run_network(bench, network, options.keep.empty() ? scratch.file("") : options.keep);
    if (!done) return std::move(done).error().in("timing " + network);
    figures.insert(figures.end(), done->begin(), done->end());
  }
  summarise_all(bench, figures, watch.told());
  if (options.gate.empty()) return {};
  auto faults = gate_faults(figures, options.gate == "goal" ? kGoal : kResolved);
  for (const std::string& peer : network_peer_names()) {
    if (std::find(options.peers.begin(), options.peers.end(), peer) == options.peers.end()) {
      faults.push_back(peer + " was left out");
    }
  }
  if (faults.empty()) return {};
  for (const std::string& fault : faults) std::cerr << "fettle-bench: gate: " << fault << "\n";
  return Error{ErrorCode::Internal, "the gate '" + options.gate + "' stays shut", {}};
}

}  // namespace fettle::bench

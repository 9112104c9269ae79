// Comparing a layer (compare_layer.h).
#include "tests/bench/kernels/compare_layer.h"

#include <fmt/format.h>

#include "host/records/queries.h"

namespace fettle::bench {
namespace {

// The fastest record of the layer among those that fit the device best.
Result<records::TuningRecord> best_record(const KernelBench& bench,
                                          const space::Workload& workload) {
  records::Filter filter;
  filter.workload = workload.canonical();
  filter.device_key = bench.options.device;
  auto found = records::best(bench.database, filter);
  if (!found) return std::move(found).error();
  const records::TuningRecord* chosen = nullptr;
  int chosen_fit = 0;
  for (const records::TuningRecord& record : *found) {
    const int fit = bench.side.fit(record.target);
    if (fit > chosen_fit ||
        (chosen && fit == chosen_fit && *record.nanoseconds() < *chosen->nanoseconds())) {
      chosen = &record;
      chosen_fit = fit;
    }
  }
  if (chosen != nullptr) return *chosen;
  return Error{ErrorCode::NotFound,
               "no measured record of it for device " + bench.options.device + " as it is here",
               {}};
}

struct Entered {
  std::unique_ptr<Contender> peer;
  std::size_t place;  // in LayerFigures::peers
};

// Those that are there and right; why not stays with the others.
std::vector<Entered> enter_peers(const KernelBench& bench, const Layer& layer,
                                 LayerFigures& figures) {
  std::vector<Entered> entered;
  for (NamedPeer& named : bench.side.peers(layer)) {
    PeerFigures& peer = figures.peers.emplace_back();
    peer.name = named.name;
    if (!named.made) {
      peer.absent = named.made.error().text();
      continue;
    }
    peer.implementation = (*named.made)->implementation();
    if (auto right = (*named.made)->check(layer); !right) {
      peer.absent = right.error().text();
      continue;
    }
    entered.push_back({std::move(*named.made), figures.peers.size() - 1});
  }
  return entered;
}

Result<void> time_in_turns(const KernelBench& bench, Contender& ours,
                           const std::vector<Entered>& peers, LayerFigures& figures) {
  // Ours between every two peers.
  std::vector<Contender*> turns;
  for (const Entered& entered : peers) {
    turns.push_back(&ours);
    turns.push_back(entered.peer.get());
  }
  if (turns.empty()) turns.push_back(&ours);
  AlternateOptions how;
  how.rounds = bench.options.rounds;
  how.sample_ms = bench.options.sample_ms;
  how.pause_ms = bench.side.pause_ms();
  auto timings = alternate(turns, how);
  if (!timings) return std::move(timings).error();
  figures.ours.firsts = timings->front().firsts;
  for (std::size_t i = 0; i < turns.size(); i += 2) {
    auto& all = figures.ours.nanoseconds;
    figures.ours.disturbed += (*timings)[i].disturbed;
    all.insert(all.end(), (*timings)[i].nanoseconds.begin(), (*timings)[i].nanoseconds.end());
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    figures.peers[peers[i].place].ours = std::move((*timings)[2 * i]);
    figures.peers[peers[i].place].timing = std::move((*timings)[2 * i + 1]);
  }
  return {};
}

}  // namespace

Result<void> compare_layer(const KernelBench& bench, const Layer& layer, LayerFigures& figures) {
  auto record = best_record(bench, layer.workload);
  if (!record) return std::move(record).error();
  auto ours = bench.side.ours(layer, *record);
  if (!ours) return std::move(ours).error().in(fmt::format("rebuilding record {}", record->id));
  figures.record = record->id;
  figures.configuration = record->configuration;
  figures.tuned_threads = bench.side.threads_of(record->target);
  std::vector<Entered> peers = enter_peers(bench, layer, figures);
  if (auto timed = time_in_turns(bench, **ours, peers, figures); !timed) return timed;
  // What was timed must still be right.
  for (const Entered& entered : peers) {
    auto right = entered.peer->check(layer);
    if (!right) figures.peers[entered.place].absent = "after it was timed: " + right.error().text();
  }
  if (auto right = (*ours)->check(layer); !right) {
    return std::move(right).error().in("checking ours after it was timed");
  }
  if (!bench.options.why) return {};
  ours->reset();
  peers.clear();
  auto split = bench.side.split(layer, *record);
  if (!split) return std::move(split).error().in("timing launches");
  figures.split = std::move(*split);
  return {};
}

}  // namespace fettle::bench

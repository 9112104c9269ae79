// Tables of the benchmark of kernels (kernel_report.h).
#include "tests/bench/kernels/kernel_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "host/records/table.h"

namespace fettle::bench {

void print_layers(const std::vector<LayerFigures>& layers, const KernelSide& side) {
  using records::Align;
  const std::vector<PeerColumn> columns = side.columns();
  std::vector<records::Table::Column> heads{{"layer"},
                                            {"record", Align::Right},
                                            {"tuned for", Align::Right},
                                            {"fettle", Align::Right},
                                            {side.fastest_title(), Align::Right},
                                            {"ratio", Align::Right}};
  for (const PeerColumn& column : columns) {
    heads.push_back({column.title, Align::Right});
    if (column.ratio) heads.push_back({"ratio", Align::Right});
  }
  heads.push_back({std::string(side.fastest_title()) + "'s implementation"});
  records::Table table(std::move(heads));
  for (const LayerFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    std::vector<std::string> row{
        layer.title, std::to_string(layer.record),
        layer.tuned_threads > 0 ? fmt::format("{} thr.", layer.tuned_threads) : "-",
        fmt::format("{:.1f}", layer.gflops(layer.ours))};
    const auto add = [&](const PeerFigures* peer, bool ratio) {
      row.push_back(peer ? fmt::format("{:.1f}", layer.gflops(peer->timing)) : "-");
      if (ratio) row.push_back(peer ? fmt::format("{:.3f}", layer.ratio(*peer)) : "-");
    };
    const PeerFigures* fastest = layer.fastest_peer();
    add(fastest, true);
    for (const PeerColumn& column : columns) add(layer.peer(column.peer), column.ratio);
    row.push_back(fastest ? fastest->implementation : "-");
    table.row(std::move(row));
  }
  table.print(std::cout);
}

void print_why(const std::vector<LayerFigures>& layers, const Peak& peak) {
  using records::Align;
  records::Table table({{"layer"},
                        {"ratio", Align::Right},
                        {"µs", Align::Right},
                        {"at peak", Align::Right},
                        {"hot loop", Align::Right},
                        {"other launches", Align::Right},
                        {"rest", Align::Right},
                        {"instr/FMA", Align::Right},
                        {"loads/FMA", Align::Right},
                        {"stack", Align::Right},
                        {"FMA/cycle", Align::Right},
                        {"launches, µs"}});
  for (const LayerFigures& layer : layers) {
    if (!layer.split) continue;
    const TimeSplit& split = *layer.split;
    const PeerFigures* best = layer.fastest_peer();
    double all = 0;
    std::string launches;
    for (const LaunchTime& launch : split.launches) {
      all += launch.nanoseconds;
      launches += fmt::format("{}{} {:.1f}", launches.empty() ? "" : ", ", launch.name,
                              launch.nanoseconds * 1e-3);
    }
    const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
    const int each = split.loop.multiply_adds;
    const auto per = [&](int count) {
      return each == 0 ? "-" : fmt::format("{:.2f}", double(count) / each);
    };
    table.row({layer.title, best == nullptr ? "-" : fmt::format("{:.3f}", layer.ratio(*best)),
               fmt::format("{:.1f}", all * 1e-3), percent(split.at_peak), percent(split.hot_loop),
               percent(split.other_launches), percent(split.rest), per(split.loop.instructions),
               per(split.loop.loads), std::to_string(split.loop.stack_accesses),
               split.loop.cycles > 0 ? fmt::format("{:.2f}", split.loop.per_cycle()) : "-",
               launches});
  }
  std::cout << "\n";
  table.print(std::cout);
  std::cout << fmt::format(
      "\nWhere the time of ours goes. At peak: the operations that it certainly executes (not "
      "those "
      "of iterations\nthat a border may skip) at {:.1f} GFLOPS, which a loop of nothing but "
      "multiply-adds reached here ({:.2f} a cycle\nby the static estimate, {}). Hot loop: what its "
      "other instructions cost by that estimate, everything in the\nfirst cache. Other launches: "
      "padding, transforms. Rest: caches and memory, borders, starts of loops and of\nthreads; "
      "{}.\nFMA: vector multiply-adds of the densest loop (-: none, all is unrolled); stack: its "
      "accesses of the stack.\n",
      peak.gflops, peak.loop.per_cycle(),
      peak.loop.model.empty() ? "none for this CPU" : "LLVM-MCA for " + peak.loop.model,
      hardware_counters());
}

namespace {

void print_group(const char* name, const GroupSummary& group, const char* fastest_title) {
  std::cout << fmt::format("{}: {} layers, {} missing\n", name, group.layers, group.missing);
  const auto line = [](const std::string& peer, const std::optional<RatioSummary>& ratios) {
    if (!ratios) return;
    std::cout << fmt::format(
        "  {}: {} layers, geometric mean {:.3f} ({:.3f} of the minima), least {:.3f} ({}), by "
        "their time in the network {:.3f}\n",
        peer, ratios->layers, ratios->geomean, ratios->geomean_of_minima, ratios->least,
        ratios->least_layer, ratios->weighted);
  };
  line(fastest_title, group.fastest);
  line("oneDNN without Winograd", group.direct);
  line("oneDNN on plain layouts", group.plain);
}

}  // namespace

void print_summary(const std::vector<LayerFigures>& layers, const NetworkSummary& summary,
                   const KernelSide& side) {
  std::cout << "\nGFLOPS (nominal), medians; ratio: the peer's time over ours\n";
  if (summary.all.direct) {
    std::cout << "oneDNN in memory of its own and in huge pages as ours: the faster counts\n";
  }
  for (const auto& [group, of_group] : summary.groups) {
    print_group(name_of(group), of_group, side.fastest_title());
  }
  if (summary.groups.size() > 1) print_group("all", summary.all, side.fastest_title());
  for (const LayerFigures& layer : layers) {
    if (!layer.missing.empty())
      std::cout << "missing: " << layer.title << ": " << layer.missing << "\n";
  }
  for (const AbsentPeer& peer : summary.absent) {
    std::cout << fmt::format("not compared: {} in {} layers: {}: {}\n", peer.name,
                             peer.layers.size(), peer.why, fmt::join(peer.layers, ", "));
  }
}

}  // namespace fettle::bench

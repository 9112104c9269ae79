// Tables of the benchmark of whole networks (network_report.h).
#include "tests/bench/networks/network_report.h"

#include <fmt/format.h>

#include <ostream>

#include "host/records/table.h"

namespace fettle::bench {
namespace {

std::string milliseconds(double nanoseconds) { return fmt::format("{:.2f}", nanoseconds * 1e-6); }

std::vector<std::string> row(const NetworkFigures& network, const ContenderFigures& one) {
  const bool ours = &one == &network.ours;
  std::vector<std::string> cells{one.name, one.version};
  if (!one.timed()) return cells;
  const auto ratio = ours ? std::nullopt : network.ratio(&one);
  cells.insert(cells.end(),
               {milliseconds(one.median()), milliseconds(one.quantile(0.1)),
                milliseconds(one.quantile(0.9)), ratio ? fmt::format("{:.3f}", *ratio) : "",
                fmt::format("{:.0f}", one.load_ms), fmt::format("{:.1e}", one.difference),
                fmt::format("{} of {}", one.disturbed, one.slices_ns.size() + one.disturbed)});
  return cells;
}

}  // namespace

void print_network(const NetworkFigures& network, std::ostream& out) {
  using records::Align;
  records::Table table({{fmt::format("{}, {} thr.", network.network, network.threads)},
                        {"version"},
                        {"median, ms", Align::Right},
                        {"p10", Align::Right},
                        {"p90", Align::Right},
                        {"ratio", Align::Right},
                        {"load, ms", Align::Right},
                        {"off by", Align::Right},
                        {"disturbed", Align::Right}});
  table.row(row(network, network.ours));
  for (const ContenderFigures& peer : network.peers) table.row(row(network, peer));
  table.print(out);
  const ContenderFigures* best = network.best_peer();
  const auto ratio = network.ratio(best);
  if (best) {
    out << fmt::format("best peer: {}{}\n", best->name,
                       ratio ? fmt::format(", {:.3f} times our time", *ratio) : "");
  }
  for (const ContenderFigures& peer : network.peers) {
    if (!peer.timed()) out << fmt::format("not timed: {}: {}\n", peer.name, peer.absent);
  }
  if (!network.ours.timed()) out << fmt::format("not timed: fettle: {}\n", network.ours.absent);
  out << std::endl;
}

void print_summary(const NetworksSummary& summary, std::ostream& out) {
  out << fmt::format("{} thr.: {} of {} networks compared", summary.threads, summary.compared,
                     summary.networks);
  if (summary.geomean_ratio) {
    out << fmt::format("; best peer over ours: geometric mean {:.3f}, lowest {:.3f} ({})",
                       *summary.geomean_ratio, summary.lowest_ratio, summary.lowest_network);
  }
  if (summary.geomean_onnxruntime) {
    out << fmt::format("; onnxruntime over ours: {:.3f}", *summary.geomean_onnxruntime);
  }
  out << "\n";
}

}  // namespace fettle::bench

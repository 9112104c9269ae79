// Medians, ratios, thresholds (network_figures.h).
#include "tests/bench/networks/network_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

std::optional<double> geometric_mean(const std::vector<double>& ratios) {
  if (ratios.empty()) return {};
  double logs = 0;
  for (const double ratio : ratios) logs += std::log(ratio);
  return std::exp(logs / static_cast<double>(ratios.size()));
}

Json to_json(const ContenderFigures& contender) {
  Json json{{"name", contender.name}};
  if (!contender.version.empty()) json["version"] = contender.version;
  if (!std::isnan(contender.difference)) json["difference"] = contender.difference;
  if (!contender.absent.empty()) json["absent"] = contender.absent;
  if (!contender.timed()) return json;
  json["median_ms"] = contender.median() * 1e-6;
  json["p10_ms"] = contender.quantile(0.1) * 1e-6;
  json["p90_ms"] = contender.quantile(0.9) * 1e-6;
  json["least_ms"] = contender.quantile(0) * 1e-6;
  json["load_ms"] = contender.load_ms;
  json["slices"] = contender.slices_ns.size();
  json["disturbed"] = contender.disturbed;
  return json;
}

}  // namespace

// Between the two neighbours of a place, by its distances from them.
double ContenderFigures::quantile(double part) const {
  std::vector<double> sorted = slices_ns;
  std::sort(sorted.begin(), sorted.end());
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

const ContenderFigures* NetworkFigures::peer(const std::string& name) const {
  for (const ContenderFigures& peer : peers) {
    if (peer.name == name && peer.timed()) return &peer;
  }
  return nullptr;
}

const ContenderFigures* NetworkFigures::best_peer() const {
  const ContenderFigures* best = nullptr;
  for (const ContenderFigures& peer : peers) {
    if (peer.timed() && (!best || peer.median() < best->median())) best = &peer;
  }
  return best;
}

std::optional<double> NetworkFigures::ratio(const ContenderFigures* peer) const {
  if (!peer || !ours.timed()) return {};
  return peer->median() / ours.median();
}

std::string wrong_output(const std::vector<float>& output, const std::vector<float>& expected,
                         double bound, double& difference) {
  if (output.size() != expected.size()) {
    return fmt::format("has {} outputs, not {}", output.size(), expected.size());
  }
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double off = std::fabs(double(output[i]) - expected[i]);
    if (!std::isfinite(off)) return fmt::format("output {} is {}", i, output[i]);
    most = std::max(most, off);
    largest = std::max(largest, std::fabs(double(expected[i])));
  }
  difference = largest > 0 ? most / largest : most;
  if (difference <= bound) return "";
  return fmt::format("is wrong: off by {:.1e} of the largest output", difference);
}

std::vector<NetworksSummary> summarise(const std::vector<NetworkFigures>& networks) {
  std::vector<NetworksSummary> summaries;
  std::vector<unsigned> counts;
  for (const NetworkFigures& network : networks) {
    if (std::find(counts.begin(), counts.end(), network.threads) == counts.end()) {
      counts.push_back(network.threads);
    }
  }
  for (const unsigned threads : counts) {
    NetworksSummary& summary = summaries.emplace_back();
    summary.threads = threads;
    std::vector<double> best, onnxruntime;
    for (const NetworkFigures& network : networks) {
      if (network.threads != threads) continue;
      ++summary.networks;
      if (const auto ratio = network.ratio(network.peer("onnxruntime"))) {
        onnxruntime.push_back(*ratio);
      }
      const auto ratio = network.ratio(network.best_peer());
      if (!ratio) continue;
      if (best.empty() || *ratio < summary.lowest_ratio) {
        summary.lowest_ratio = *ratio;
        summary.lowest_network = network.network;
      }
      best.push_back(*ratio);
    }
    summary.compared = best.size();
    summary.geomean_ratio = geometric_mean(best);
    summary.geomean_onnxruntime = geometric_mean(onnxruntime);
  }
  return summaries;
}

std::vector<std::string> gate_faults(const std::vector<NetworkFigures>& networks,
                                     const NetworkGate& gate) {
  std::vector<std::string> faults;
  const auto missed = [&](const std::string& what, double is, double least) {
    if (is < least) faults.push_back(fmt::format("{} is {:.3f}, below {:.2f}", what, is, least));
  };
  for (const NetworkFigures& network : networks) {
    const auto where = fmt::format("{}, {} thr.", network.network, network.threads);
    for (const ContenderFigures& peer : network.peers) {
      if (!peer.timed()) faults.push_back(fmt::format("{}: {}: {}", where, peer.name, peer.absent));
    }
    if (!network.ours.timed()) {
      faults.push_back(fmt::format("{}: fettle: {}", where, network.ours.absent));
    }
    const auto ratio = network.ratio(network.best_peer());
    if (network.threads != 1 || !ratio) continue;
    missed(network.network, *ratio, network.network == "resnet-18" ? gate.resnet_18 : gate.lowest);
  }
  bool one_thread = false;
  for (const NetworksSummary& summary : summarise(networks)) {
    if (summary.threads != 1) continue;
    one_thread = true;
    missed("geomean_ratio", summary.geomean_ratio.value_or(0), gate.geomean_ratio);
    missed("geomean_onnxruntime", summary.geomean_onnxruntime.value_or(0),
           gate.geomean_onnxruntime);
  }
  if (!one_thread) faults.push_back("nothing was timed with one thread, for which thresholds are");
  return faults;
}

Json to_json(const NetworkFigures& network) {
  Json json{{"network", network.network},
            {"threads", network.threads},
            {"fettle", to_json(network.ours)},
            {"peers", Json::array()}};
  for (const ContenderFigures& peer : network.peers) {
    json["peers"].push_back(to_json(peer));
    if (const auto ratio = peer.timed() ? network.ratio(&peer) : std::nullopt) {
      json["peers"].back()["ratio"] = *ratio;
    }
  }
  const ContenderFigures* best = network.best_peer();
  if (best) json["best_peer"] = best->name;
  if (const auto ratio = network.ratio(best)) json["ratio"] = *ratio;
  return json;
}

Json to_json(const NetworksSummary& summary) {
  Json json{
      {"threads", summary.threads}, {"networks", summary.networks}, {"compared", summary.compared}};
  if (summary.geomean_ratio) {
    json["geomean_ratio"] = *summary.geomean_ratio;
    json["lowest_ratio"] = summary.lowest_ratio;
    json["lowest_network"] = summary.lowest_network;
  }
  if (summary.geomean_onnxruntime) json["geomean_onnxruntime"] = *summary.geomean_onnxruntime;
  return json;
}

}  // namespace fettle::bench

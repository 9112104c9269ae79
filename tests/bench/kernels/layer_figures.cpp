// Ratios and their summary (layer_figures.h).
#include "tests/bench/kernels/layer_figures.h"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

std::optional<RatioSummary> summary_of(
    const std::vector<LayerFigures>& layers,
    const std::function<const PeerFigures*(const LayerFigures&)>& choose) {
  RatioSummary summary;
  double logarithms = 0, minima = 0, peer_time = 0, our_time = 0;
  for (const LayerFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    const PeerFigures* peer = choose(layer);
    if (peer == nullptr) continue;
    const double ratio = layer.ratio(*peer);
    logarithms += std::log(ratio);
    minima += std::log(layer.ratio_of_minima(*peer));
    peer_time += layer.weight * peer->timing.median();
    our_time += layer.weight * layer.ours.median();
    if (summary.layers++ == 0 || ratio < summary.least) {
      summary.least = ratio;
      summary.least_layer = layer.title;
    }
  }
  if (summary.layers == 0) return std::nullopt;
  summary.geomean = std::exp(logarithms / static_cast<double>(summary.layers));
  summary.geomean_of_minima = std::exp(minima / static_cast<double>(summary.layers));
  summary.weighted = peer_time / our_time;
  return summary;
}

void put_timing(Json& to, const LayerFigures& layer, const Timing& timing) {
  to["ns_median"] = timing.median();
  to["ns_min"] = timing.least();
  to["disturbed"] = timing.disturbed;
  to["gflops"] = layer.gflops(timing);
}

void put_summary(Json& to, const std::string& prefix, const std::optional<RatioSummary>& summary) {
  if (!summary) return;
  to[prefix + "geomean_ratio"] = summary->geomean;
  to[prefix + "geomean_ratio_of_minima"] = summary->geomean_of_minima;
  to[prefix + "min_ratio"] = summary->least;
  to[prefix + "min_ratio_layer"] = summary->least_layer;
  to[prefix + "weighted_ratio"] = summary->weighted;
}

}  // namespace

const PeerFigures* LayerFigures::peer(const std::string& name) const {
  for (const PeerFigures& peer : peers) {
    if (peer.name == name && peer.absent.empty()) return &peer;
  }
  return nullptr;
}

const PeerFigures* LayerFigures::fastest_peer() const {
  const PeerFigures* fastest = nullptr;
  for (const PeerFigures& each : peers) {
    const bool counts =
        each.absent.empty() && each.name != "onednn_plain" && each.name != "openblas";
    if (counts && (!fastest || each.timing.median() < fastest->timing.median())) fastest = &each;
  }
  return fastest;
}

NetworkSummary summarise(const std::vector<LayerFigures>& layers) {
  NetworkSummary summary;
  summary.layers = layers.size();
  for (const LayerFigures& layer : layers) summary.missing += layer.missing.empty() ? 0 : 1;
  summary.fastest = summary_of(layers, [](const LayerFigures& l) { return l.fastest_peer(); });
  summary.direct = summary_of(layers, [](const LayerFigures& l) { return l.peer("onednn"); });
  summary.plain = summary_of(layers, [](const LayerFigures& l) { return l.peer("onednn_plain"); });
  return summary;
}

Json to_json(const LayerFigures& layer) {
  Json object = {{"layer", layer.title}, {"weight", layer.weight}};
  if (!layer.missing.empty()) {
    object["missing"] = layer.missing;
    return object;
  }
  object["record"] = layer.record;
  object["tuned_threads"] = layer.tuned_threads;
  object["configuration"] = Json::parse(layer.configuration, nullptr, false);
  put_timing(object["fettle"], layer, layer.ours);
  object["peers"] = Json::array();
  for (const PeerFigures& peer : layer.peers) {
    Json one = {{"name", peer.name}};
    if (peer.absent.empty()) {
      one["implementation"] = peer.implementation;
      put_timing(one, layer, peer.timing);
      one["ratio"] = layer.ratio(peer);
      one["ratio_of_minima"] = layer.ratio_of_minima(peer);
    } else {
      one["absent"] = peer.absent;
    }
    object["peers"].push_back(std::move(one));
  }
  if (const PeerFigures* fastest = layer.fastest_peer()) {
    object["fastest_peer"] = fastest->name;
    object["ratio"] = layer.ratio(*fastest);
  }
  if (const PeerFigures* direct = layer.peer("onednn")) {
    object["direct_ratio"] = layer.ratio(*direct);
  }
  if (const PeerFigures* plain = layer.peer("onednn_plain"))
    object["plain_ratio"] = layer.ratio(*plain);
  if (layer.split) object["why"] = to_json(*layer.split);
  return object;
}

Json to_json(const NetworkSummary& summary) {
  Json object = {{"layers", summary.layers}, {"missing", summary.missing}};
  put_summary(object, "", summary.fastest);
  put_summary(object, "direct_", summary.direct);
  put_summary(object, "plain_", summary.plain);
  return object;
}

}  // namespace fettle::bench

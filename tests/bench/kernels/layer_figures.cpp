// Ratios and their summary (layer_figures.h).
#include "tests/bench/kernels/layer_figures.h"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

const PeerFigures* faster_of(const PeerFigures* fastest, const PeerFigures& other) {
  return fastest && fastest->timing.median() <= other.timing.median() ? fastest : &other;
}

std::optional<RatioSummary> ratios_of(
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

GroupSummary summary_of(const std::vector<LayerFigures>& layers) {
  GroupSummary summary;
  summary.layers = layers.size();
  for (const LayerFigures& layer : layers) summary.missing += layer.missing.empty() ? 0 : 1;
  summary.fastest = ratios_of(layers, [](const LayerFigures& l) { return l.fastest_peer(); });
  summary.direct = ratios_of(layers, [](const LayerFigures& l) { return l.peer("onednn"); });
  summary.plain = ratios_of(layers, [](const LayerFigures& l) { return l.peer("onednn_plain"); });
  return summary;
}

void add_absent(std::vector<AbsentPeer>& absent, const PeerFigures& peer,
                const std::string& layer) {
  for (AbsentPeer& known : absent) {
    if (known.name != peer.name || known.why != peer.absent) continue;
    known.layers.push_back(layer);
    return;
  }
  absent.push_back({peer.name, peer.absent, {layer}});
}

void put_timing(Json& to, const LayerFigures& layer, const Timing& timing) {
  to["ns_median"] = timing.median();
  to["ns_min"] = timing.least();
  to["disturbed"] = timing.disturbed;
  to["gflops"] = layer.gflops(timing);
}

void put_ratios(Json& to, const std::string& prefix, const std::optional<RatioSummary>& summary) {
  if (!summary) return;
  to[prefix + "geomean_ratio"] = summary->geomean;
  to[prefix + "geomean_ratio_of_minima"] = summary->geomean_of_minima;
  to[prefix + "min_ratio"] = summary->least;
  to[prefix + "min_ratio_layer"] = summary->least_layer;
  to[prefix + "weighted_ratio"] = summary->weighted;
}

Json to_json(const GroupSummary& summary) {
  Json object = {{"layers", summary.layers}, {"missing", summary.missing}};
  put_ratios(object, "", summary.fastest);
  put_ratios(object, "direct_", summary.direct);
  put_ratios(object, "plain_", summary.plain);
  return object;
}

}  // namespace

const PeerFigures* LayerFigures::peer(const std::string& name) const {
  const PeerFigures* fastest = nullptr;
  for (const PeerFigures& each : peers) {
    if (each.name != name && each.name != name + "_huge_pages") continue;
    if (each.absent.empty()) fastest = faster_of(fastest, each);
  }
  return fastest;
}

const PeerFigures* LayerFigures::fastest_peer() const {
  const PeerFigures* fastest = nullptr;
  for (const PeerFigures& each : peers) {
    if (each.name.starts_with("onednn_plain") || each.name == "openblas") continue;
    if (each.absent.empty()) fastest = faster_of(fastest, each);
  }
  return fastest;
}

NetworkSummary summarise(const std::vector<LayerFigures>& layers) {
  NetworkSummary summary;
  summary.all = summary_of(layers);
  for (const LayerGroup group :
       {LayerGroup::Convolutions, LayerGroup::Products, LayerGroup::Others}) {
    std::vector<LayerFigures> of_group;
    for (const LayerFigures& layer : layers) {
      if (layer.group == group) of_group.push_back(layer);
    }
    if (!of_group.empty()) summary.groups[group] = summary_of(of_group);
  }
  for (const LayerFigures& layer : layers) {
    for (const PeerFigures& peer : layer.peers) {
      if (!peer.absent.empty()) add_absent(summary.absent, peer, layer.title);
    }
  }
  return summary;
}

std::string missing_layers(const std::vector<LayerFigures>& layers) {
  std::string all;
  for (const LayerFigures& layer : layers) {
    if (layer.missing.empty() || !layer.required) continue;
    all += (all.empty() ? "" : "; ") + layer.title + ": " + layer.missing;
  }
  return all;
}

Json to_json(const LayerFigures& layer) {
  Json object = {{"layer", layer.title}, {"weight", layer.weight}, {"group", name_of(layer.group)}};
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
  Json object = to_json(summary.all);
  for (const auto& [group, of_group] : summary.groups) object[name_of(group)] = to_json(of_group);
  object["not_compared"] = Json::array();
  for (const AbsentPeer& peer : summary.absent) {
    object["not_compared"].push_back(
        {{"peer", peer.name}, {"why", peer.why}, {"layers", peer.layers}});
  }
  return object;
}

}  // namespace fettle::bench

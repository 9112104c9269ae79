// Writing reports (report.h).
#include "runtime/run/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace fettle::run {
namespace {

__attribute__((format(printf, 2, 3))) void add(std::string& text, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// "   1.2345 ms", "  123456 cycles".
std::string amount(double amount, const std::string& unit) {
  std::string text;
  add(text, unit == kMilliseconds ? "%9.4f %s" : "%9.0f %s", amount, unit.c_str());
  return text;
}

// "conv2d 1x64x56x56" up to the table's column.
std::string shortened(const std::string& title) {
  constexpr std::size_t kColumn = 52;
  return title.size() <= kColumn ? title : title.substr(0, kColumn - 3) + "...";
}

double gflops(const Layer& layer) {
  const bool timed = layer.time.unit == kMilliseconds && layer.time.amount > 0;
  return timed ? layer.operations / layer.time.amount / 1e6 : 0;
}

void add_layers(std::string& text, const Report& report) {
  const bool peak = report.peak_gflops > 0;
  add(text, "\n%12s %6s %8s %s%9s  layer\n", "time", "share", "GFLOP/s", peak ? "% peak " : "",
      "tuned ms");
  std::vector<std::string> units;
  for (const Layer& layer : report.layers) {
    const double sum = sum_of(report, layer.time.unit);
    if (std::find(units.begin(), units.end(), layer.time.unit) == units.end()) {
      units.push_back(layer.time.unit);
    }
    text += amount(layer.time.amount, layer.time.unit);
    add(text, " %5.1f%%", sum > 0 ? 100 * layer.time.amount / sum : 0);
    if (const double rate = gflops(layer); rate > 0) {
      add(text, " %8.1f", rate);
      if (peak) add(text, " %5.1f%%", 100 * rate / report.peak_gflops);
    } else {
      add(text, peak ? " %8s %6s" : " %8s", "-", "-");
    }
    if (layer.expected_ns > 0) {
      add(text, " %9.4f", layer.expected_ns / 1e6);
    } else {
      add(text, " %9s", "-");
    }
    text += "  " + shortened(layer.title) + "\n";
  }
  for (const std::string& unit : units) {
    text += amount(sum_of(report, unit), unit);
    text += units.size() == 1 ? " 100.0%  all layers, timed one by one\n"
                              : "         all layers that are timed in " + unit + "\n";
  }
}

void add_conditions(std::string& text, const Timing& timing) {
  add(text, "  while timed: %llu involuntary switches, %llu ticks stolen, governor %s",
      static_cast<unsigned long long>(timing.involuntary_switches),
      static_cast<unsigned long long>(timing.steal_ticks),
      timing.governor.empty() ? "not told" : timing.governor.c_str());
  if (timing.cpu_khz > 0) add(text, ", %u MHz", timing.cpu_khz / 1000);
  if (timing.temperature_millidegrees != 0) {
    add(text, ", %.0f °C", timing.temperature_millidegrees / 1000.0);
  }
  if (timing.disturbed > 0) add(text, "; %u disturbed runs taken again", timing.disturbed);
  if (timing.borrowed > 0) add(text, "; %u of those that count were disturbed", timing.borrowed);
  text += "\n";
}

void add_memory(std::string& text, const Report& report) {
  const runtime::NetworkMemoryFigures& memory = report.memory;
  text += "  memory    ";
  if (report.peak_bytes > 0) add(text, "%.1f MiB at its peak; ", mib(report.peak_bytes));
  add(text, "file %.1f, buffers %.1f, of them values %.1f (%.1f alive at once)\n", mib(memory.file),
      mib(memory.own), mib(memory.arena), mib(memory.live));
}

}  // namespace

std::vector<Layer> layers_of(const wire::NetworkT& network, const std::vector<LayerTime>& times) {
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < network.layers.size() && i < times.size(); ++i) {
    const wire::NetworkLayerT& from = *network.layers[i];
    layers.push_back(
        {from.title, from.nodes, from.operations, from.expected_ns, from.origin, times[i]});
  }
  return layers;
}

double sum_of(const Report& report, const std::string& unit) {
  double sum = 0;
  for (const Layer& layer : report.layers) sum += layer.time.unit == unit ? layer.time.amount : 0;
  return sum;
}

std::string text_of(const Report& report) {
  const Timing& timing = report.timing;
  std::string text = report.network.empty() ? "network" : report.network;
  add(text, ", %u thread%s", report.threads, report.threads == 1 ? "" : "s");
  if (!report.device.empty()) text += ", on " + report.device;
  text += report.emulated ? ", emulated: its times are no board's\n" : "\n";
  const bool ms = timing.unit == kMilliseconds;
  add(text, ms ? "  latency   %.3f %s" : "  latency   %.0f %s", timing.quantile(0.5),
      timing.unit.c_str());
  add(text,
      ms ? " (median of %zu runs; p10 %.3f, p90 %.3f)\n"
         : " (median of %zu runs; p10 %.0f, p90 %.0f)\n",
      timing.runs.size(), timing.quantile(0.1), timing.quantile(0.9));
  add(text, "  loaded    in %.1f ms", report.load_ms);
  if (report.first_result_ms) add(text, "; first result after %.1f ms", *report.first_result_ms);
  text += "\n";
  add_memory(text, report);
  add_conditions(text, timing);
  if (!report.layers.empty()) add_layers(text, report);
  if (!report.classes.empty()) text += "\n";
  const bool batch = !report.classes.empty() && report.classes.back().row > 0;
  for (std::size_t i = 0; i < report.classes.size(); ++i) {
    const Class& one = report.classes[i];
    if (batch && (i == 0 || report.classes[i - 1].row != one.row)) {
      text += "  row " + std::to_string(one.row) + "\n";
    }
    add(text, "%9.4f  %zu", one.score, one.index);
    text += (one.label.empty() ? "" : " " + one.label) + "\n";
  }
  return text;
}

std::string json_of(const Report& report) {
  using nlohmann::ordered_json;
  const runtime::NetworkMemoryFigures& memory = report.memory;
  const Timing& timing = report.timing;
  ordered_json json = {{"network", report.network}, {"threads", report.threads}};
  if (!report.device.empty()) {
    json["device"] = report.device;
    json["emulated"] = report.emulated;
    json["disturbed"] = timing.disturbed;
    json["borrowed"] = timing.borrowed;
  }
  json["latency_" + timing.unit] = timing.quantile(0.5);
  json["p10_" + timing.unit] = timing.quantile(0.1);
  json["p90_" + timing.unit] = timing.quantile(0.9);
  json["runs"] = timing.runs.size();
  json["load_ms"] = report.load_ms;
  if (report.first_result_ms) json["first_result_ms"] = *report.first_result_ms;
  json["governor"] = timing.governor;
  json["cpu_khz"] = timing.cpu_khz;
  json["temperature_millidegrees"] = timing.temperature_millidegrees;
  json["involuntary_switches"] = timing.involuntary_switches;
  json["steal_ticks"] = timing.steal_ticks;
  if (report.peak_bytes > 0) json["peak_bytes"] = report.peak_bytes;
  json["memory"] = {{"file", memory.file}, {"constants", memory.constants}, {"own", memory.own},
                    {"code", memory.code}, {"arena", memory.arena},         {"live", memory.live}};
  if (report.peak_gflops > 0) json["peak_gflops"] = report.peak_gflops;
  for (const Layer& layer : report.layers) {
    json["layers"].push_back({{"title", layer.title},
                              {"nodes", layer.nodes},
                              {layer.time.unit, layer.time.amount},
                              {"operations", layer.operations},
                              {"expected_ns", layer.expected_ns},
                              {"origin", wire::EnumNameScheduleOrigin(layer.origin)}});
  }
  for (const Class& one : report.classes) {
    json["classes"].push_back(
        {{"row", one.row}, {"index", one.index}, {"score", one.score}, {"label", one.label}});
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fettle::run

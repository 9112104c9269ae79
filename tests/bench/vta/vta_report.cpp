// Tables and lines of JSON (vta_report.h).
#include "tests/bench/vta/vta_report.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "host/records/table.h"

namespace fettle::bench {
namespace {

using records::Align;
using records::Table;

const char* core_of(const VtaBenchOptions& options) { return options.rtl ? "rtl" : "simulator"; }

void print_figures(const VtaBenchOptions& options, const std::vector<VtaFigures>& layers) {
  Table table({{"layer"},
               {"programs", Align::Right},
               {"estimated", Align::Right},
               {options.rtl ? "RTL" : "cycles", Align::Right},
               {"bound", Align::Right},
               {"of the bound", Align::Right},
               {"GOPS", Align::Right},
               {"published", Align::Right},
               {"ratio", Align::Right}});
  for (const VtaFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    const bool published = layer.published_gops > 0;
    table.row({layer.title, std::to_string(layer.programs),
               std::to_string(layer.chosen_estimated_cycles), std::to_string(layer.cycles),
               fmt::format("{:.0f}", layer.bound.cycles()),
               fmt::format("{:.1f} %", 100 * layer.roofline_share()),
               layer.multiply_adds > 0 ? fmt::format("{:.2f}", layer.gops()) : "-",
               published ? fmt::format("{:.2f}", layer.published_gops) : "-",
               published ? fmt::format("{:.2f}", layer.gops() / layer.published_gops) : "-"});
  }
  table.print(std::cout);
}

void print_bounds(const std::vector<VtaFigures>& layers) {
  std::cout << "\nbound = max(GEMM + reset + ALU cycles of the compute queue, compulsory bytes / "
            << vta::host::kPortBytes << " a cycle)\n";
  Table table({{"layer"},
               {"GEMM", Align::Right},
               {"reset + ALU", Align::Right},
               {"compute", Align::Right},
               {"bytes", Align::Right},
               {"port", Align::Right}});
  for (const VtaFigures& layer : layers) {
    if (!layer.missing.empty()) continue;
    const vta::host::Bound& bound = layer.bound;
    table.row({layer.title, std::to_string(bound.gemm_cycles), std::to_string(bound.sum_cycles),
               std::to_string(bound.compute_cycles()),
               fmt::format("{:.0f}", bound.compulsory_bytes),
               fmt::format("{:.0f}", bound.port_cycles())});
  }
  table.print(std::cout);
}

}  // namespace

void print_json(const VtaFigures& layer) {
  nlohmann::json object = {{"layer", layer.title}};
  if (layer.missing.empty()) {
    if (layer.record != 0) object["record"] = layer.record;
    object["configuration"] = nlohmann::json::parse(layer.configuration);
    object["programs"] = layer.programs;
    object["cycles"] = layer.cycles;
    object["estimated_cycles"] = layer.estimated_cycles;
    object["chosen_cycles"] = layer.chosen_cycles;
    object["chosen_estimated_cycles"] = layer.chosen_estimated_cycles;
    object["gemm_cycles"] = layer.bound.gemm_cycles;
    object["reset_and_alu_cycles"] = layer.bound.sum_cycles;
    object["compulsory_bytes"] = layer.bound.compulsory_bytes;
    object["bound_cycles"] = layer.bound.cycles();
    object["roofline_share"] = layer.roofline_share();
    if (layer.multiply_adds > 0) object["gops"] = layer.gops();
    if (layer.published_gops > 0) {
      object["published_tuned_gops"] = layer.published_gops;
      object["over_published"] = layer.gops() / layer.published_gops;
    }
  } else {
    object["missing"] = layer.missing;
  }
  std::cout << object.dump() << std::endl;
}

void report(const VtaBenchOptions& options, const vta::Design& design,
            const std::vector<VtaFigures>& layers) {
  const VtaSummary summary = summarise(layers);
  if (options.json) {
    std::cout << nlohmann::json{{"benchmark", "vta"},
                                {"summary", true},
                                {"network", options.network},
                                {"design", vta::configuration_of(design)},
                                {"core", core_of(options)},
                                {"assumed_clock_mhz", design.clock_khz / 1e3},
                                {"candidates", options.candidates},
                                {"layers", summary.layers},
                                {"missing", layers.size() - summary.layers},
                                {"programs", summary.programs},
                                {"min_roofline_share", summary.least_share},
                                {"min_roofline_share_layer", summary.least_layer},
                                {"geomean_roofline_share", summary.geomean_share},
                                {"geomean_over_published", summary.geomean_over_published},
                                {"geomean_chosen_over_fastest", summary.geomean_chosen}}
                     .dump()
              << std::endl;
    return;
  }
  if (summary.layers > 0) print_figures(options, layers);
  for (const VtaFigures& layer : layers) {
    if (!layer.missing.empty()) std::cout << layer.title << ": " << layer.missing << "\n";
  }
  if (summary.layers == 0) return;
  print_bounds(layers);
  std::cout << fmt::format(
      "\n{} layers, {} programs, outputs as the reference's. GOPS at an assumed {:.0f} MHz: no "
      "timing closure is claimed.\n{:.1f} % of the bound at least ({}), {:.1f} % in the geometric "
      "mean\n",
      summary.layers, summary.programs, design.clock_khz / 1e3, 100 * summary.least_share,
      summary.least_layer, 100 * summary.geomean_share);
  if (options.rtl) {
    std::cout << fmt::format(
        "what the simulator takes for the fastest takes {:.2f} % longer than the fastest, in the "
        "geometric mean\n",
        100 * (summary.geomean_chosen - 1));
  }
  if (summary.published > 0) {
    std::cout << fmt::format("{:.2f} times what was published, in the geometric mean of {}\n",
                             summary.geomean_over_published, summary.published);
  }
}

}  // namespace fettle::bench

// Profiles as pages (run_page.h): a table with bars, no script.
#include "host/app/run_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/plot/html_text.h"

namespace fettle::app {
namespace {

constexpr const char* kStyle =
    "body{font:14px sans-serif;margin:2em;color:#222;background:#fff}"
    "table{border-collapse:collapse}td,th{padding:2px 10px;text-align:right}"
    "th{border-bottom:1px solid #888}td.text,th.text{text-align:left}"
    ".bar{display:inline-block;height:.8em;background:#4477aa;margin-left:6px}";

std::string row_of(const run::Report& report, const run::Layer& layer) {
  const bool ms = layer.time.unit == run::kMilliseconds;
  const double sum = run::sum_of(report, layer.time.unit);
  const double share = sum > 0 ? 100 * layer.time.amount / sum : 0;
  const double gflops =
      ms && layer.time.amount > 0 ? layer.operations / layer.time.amount / 1e6 : 0;
  std::string row = "<tr><td>" + (ms ? fmt::format("{:.4f}", layer.time.amount)
                                     : fmt::format("{:.0f}", layer.time.amount));
  row += " " + plot::html_text(layer.time.unit) + "</td>";
  row += fmt::format(
      "<td class=\"text\">{:.1f} %<span class=\"bar\" style=\"width:{:.1f}px\"></span></td>", share,
      2 * share);
  row += gflops > 0 ? fmt::format("<td>{:.1f}</td>", gflops) : "<td></td>";
  if (report.peak_gflops > 0) {
    row += gflops > 0 ? fmt::format("<td>{:.1f} %</td>", 100 * gflops / report.peak_gflops)
                      : "<td></td>";
  }
  row +=
      layer.expected_ns > 0 ? fmt::format("<td>{:.4f}</td>", layer.expected_ns / 1e6) : "<td></td>";
  row += "<td class=\"text\">" + plot::html_text(layer.title) + "</td>";
  row += "<td class=\"text\">" + plot::html_text(fmt::format("{}", fmt::join(layer.nodes, ", "))) +
         "</td></tr>\n";
  return row;
}

}  // namespace

std::string run_page(const run::Report& report) {
  const std::string title = plot::html_text((report.network.empty() ? "network" : report.network) +
                                            (report.device.empty() ? "" : " on " + report.device));
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>" +
      title + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<h1>" + title + "</h1>\n";
  const run::Timing& timing = report.timing;
  page += fmt::format(
      "<p>{} thread{}: median of {} runs {:.3f} {}; p10 {:.3f}, p90 {:.3f}.{}</p>\n",
      report.threads, report.threads == 1 ? "" : "s", timing.runs.size(), timing.quantile(0.5),
      plot::html_text(timing.unit), timing.quantile(0.1), timing.quantile(0.9),
      report.emulated ? " Emulated: these times are no board's." : "");
  page += "<table>\n<tr><th>time</th><th class=\"text\">share</th><th>GFLOP/s</th>";
  if (report.peak_gflops > 0) {
    page += fmt::format("<th>% of {:.1f} GFLOP/s</th>", report.peak_gflops);
  }
  page += "<th>tuned ms</th><th class=\"text\">layer</th><th class=\"text\">nodes</th></tr>\n";
  for (const run::Layer& layer : report.layers) page += row_of(report, layer);
  return page + "</table>\n</body>\n</html>\n";
}

}  // namespace fettle::app

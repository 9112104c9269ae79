// fettle build: a network compiled into one file.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "host/app/commands.h"
#include "host/app/compile_network.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/records/json_fields.h"
#include "host/space/target.h"
#include "schemas/network/network_file.h"

namespace fettle::app {
namespace {

struct BuildCommand {
  CompileOptions compile;
  std::string path;
  bool json = false;
};

// For which back end; a GPU's file is run through an agent only.
std::string built_for(const wire::NetworkT& network, const std::string& device_key) {
  const auto target = space::Target::parse(network.target);
  const std::string backend = target ? target->backend() : "";
  const bool gpu = std::any_of(
      network.program->images.begin(), network.program->images.end(), [](const auto& image) {
        return image->kind == wire::ImageKind::OpenClSource ||
               image->kind == wire::ImageKind::Ptx || image->kind == wire::ImageKind::Cubin;
      });
  if (!gpu || device_key.empty()) return backend;
  return fmt::format("{}, which `fettle run --device {}` runs", backend, device_key);
}

// What became of the layers, and what they are expected to take.
struct Summary {
  int tuned = 0, similar = 0, untuned = 0, unknown = 0;  // unknown: without a time
  int accelerated = 0;
  double expected_ns = 0;
};

Summary summary_of(const wire::NetworkT& network) {
  Summary out;
  for (const auto& layer : network.layers) {
    switch (layer->origin) {
      case wire::ScheduleOrigin::Tuned:
        ++out.tuned;
        break;
      case wire::ScheduleOrigin::Similar:
        ++out.similar;
        break;
      case wire::ScheduleOrigin::Untuned:
        ++out.untuned;
    }
    out.unknown += layer->expected_ns > 0 ? 0 : 1;
    out.expected_ns += layer->expected_ns;
    out.accelerated += layer->target.empty() ? 0 : 1;
  }
  return out;
}

// By their titles; layers alike once.
std::vector<std::string> untimed_layers(const wire::NetworkT& network) {
  std::set<std::string> titles;
  for (const auto& layer : network.layers) {
    if (!(layer->expected_ns > 0)) titles.insert(layer->title);
  }
  return {titles.begin(), titles.end()};
}

std::string without_a_time(const wire::NetworkT& network, int layers) {
  if (layers == 0) return "";
  auto titles = untimed_layers(network);
  constexpr std::size_t kMostNamed = 3;
  const bool more = titles.size() > kMostNamed;
  titles.resize(std::min(titles.size(), kMostNamed));
  return fmt::format(", beside {} layer{} without a time: {}{}", layers, layers == 1 ? "" : "s",
                     fmt::join(titles, ", "), more ? " …" : "");
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// For people, or as a line of JSON.
std::string report(const BuildCommand& command, const std::string& device_key,
                   const wire::NetworkT& network, std::uint64_t weights) {
  const Summary summary = summary_of(network);
  if (command.json) {
    const nlohmann::json line = {
        {"file", command.path},
        {"target", nlohmann::json::parse(network.target)},
        {"device", device_key},
        {"layers", network.layers.size()},
        {"accelerated", summary.accelerated},
        {"tuned", summary.tuned},
        {"similar", summary.similar},
        {"untuned", summary.untuned},
        {"expected_ns",
         summary.expected_ns > 0 ? nlohmann::json(summary.expected_ns) : nlohmann::json()},
        {"layers_without_time", summary.unknown},
        {"untimed", untimed_layers(network)},
        {"arena_bytes", network.arena_bytes},
        {"live_bytes", network.live_bytes},
        {"weight_bytes", weights}};
    return records::dump_json(line) + "\n";
  }
  std::string text = fmt::format(
      "{}: {} layers: {} tuned, {} by a similar task's schedule, {} untuned\n", command.path,
      network.layers.size(), summary.tuned, summary.similar, summary.untuned);
  text += fmt::format("built for: {}\n", built_for(network, device_key));
  if (!command.compile.target.accelerator.empty()) {
    text += fmt::format("accelerator: {} layers on {}, {} on the CPU beside it\n",
                        summary.accelerated, command.compile.target.accelerator,
                        network.layers.size() - static_cast<std::size_t>(summary.accelerated));
  }
  if (summary.expected_ns > 0) {
    text += fmt::format("expected: {:.3f} ms{}\n", summary.expected_ns / 1e6,
                        without_a_time(network, summary.unknown));
  }
  text += fmt::format("memory: {} of weights, {} between layers ({} alive at once)\n",
                      megabytes(weights), megabytes(network.arena_bytes),
                      megabytes(network.live_bytes));
  return text;
}

Result<void> build(const BuildCommand& command) {
  if (auto may = check_may_replace(command.path, false, true); !may) return may;
  if (auto may = check_folder(command.path); !may) return may;  // compiling takes long
  auto compiled = compile_network(command.compile);
  if (!compiled) return std::move(compiled).error();
  network::LinkedNetwork& linked = compiled->linked;
  std::vector<ByteView> contents;
  std::uint64_t weights = 0;
  for (const auto& blob : linked.blobs) {
    contents.push_back(blob.bytes);
    weights += blob.bytes.size();
  }
  auto written = with_output_file(
      command.path,
      [&](std::ostream& out) -> Result<std::string> {
        auto done = write_network_file(linked.network, contents, out);
        if (!done) return std::move(done).error();
        return "the compiled network" +
               (linked.network.name.empty() ? "" : " " + linked.network.name);
      },
      true);
  if (!written) return written;
  const std::string& accelerator = command.compile.target.accelerator;
  if (!accelerator.empty() && summary_of(linked.network).accelerated == 0) {
    warn("no layer fits " + accelerator + ": " + kAccelerated);
  }
  const std::string told = report(command, compiled->device_key, linked.network, weights);
  command.path == "-" ? print_beside(told) : print_text(told);
  return {};
}

}  // namespace

void add_build_command(CLI::App& app, int& status) {
  auto* build_command = app.add_subcommand(
      "build", "Compiles a network into one file, with the best schedules that are known");
  auto command = std::make_shared<BuildCommand>();
  add_model_source(*build_command, command->compile.source,
                   "An ONNX file (.onnx); `fettle zoo` writes some")
      ->required();
  build_command->add_option("-o,--output", command->path, "The file (default: MODEL.fettle)");
  add_compile_options(*build_command, command->compile);
  auto* accelerator = build_command->add_option(
      "--accelerator", command->compile.target.accelerator,
      "Key of an accelerator beside the CPU, such as vta-sim: it does the int8 convolutions whose "
      "scales are powers of two and whose channels are whole blocks of 16");
  build_command->get_option("--in-place")->excludes(accelerator);
  build_command->add_flag("--json", command->json, "One JSON object on standard output");
  build_command->footer(
      "A layer gets the schedule of its best record; without one, that of the most similar tuned "
      "task of its kind, and else the one that the cost model holds for the best of some. The "
      "file is the same for the same model, records and fettle, but with --in-place, which times.");
  build_command->callback([command, &status] {
    if (command->path.empty()) {
      command->path = std::filesystem::path(command->compile.source.what)
                          .filename()
                          .replace_extension(".fettle");
    }
    const auto done = build(*command);
    status = done                                       ? kFine
             : done.error().code == ErrorCode::Canceled ? kInterrupted
                                                        : fail(done.error());
  });
}

}  // namespace fettle::app

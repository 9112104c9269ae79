// fettle zoo: well-known networks as ONNX files, with seeded weights.
#include <fstream>
#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/app/commands.h"
#include "host/app/interrupt.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/model/zoo/zoo.h"
#include "host/process/run_program.h"
#include "host/records/table.h"

namespace fettle::app {
namespace {

struct ZooCommand {
  std::string name, path;
  std::uint64_t seed = 1;
  bool json = false, int8 = false, power_of_two = false;
};

int list(const ZooCommand& command) {
  records::Table table({{"network"}, {"what it is"}});
  for (const model::ZooNetwork& network : model::zoo()) {
    if (command.json) {
      print_json_line({{"name", network.name}, {"words", network.words}});
    } else {
      table.row({network.name, network.words});
    }
  }
  if (!command.json) table.print(std::cout);
  return kFine;
}

int run(const ZooCommand& command) {
  if (command.name.empty()) {
    if (!command.path.empty()) return fail("name the network that -o is to get");
    return list(command);
  }
  const model::ZooNetwork* network = model::find_in_zoo(command.name);
  if (!network) return fail("no network '" + command.name + "' in the zoo; `fettle zoo` lists it");
  std::optional<Interrupt> interrupt(std::in_place);  // before there is a folder that would stay
  std::optional<process::ScratchFolder> scratch(std::in_place);
  const bool out = command.path == "-";
  if (out && !scratch->there()) return fail("no folder for a temporary file can be made");
  const std::string path = command.path.empty() ? command.name + ".onnx"
                           : out                ? scratch->file("model.onnx")
                                                : command.path;
  if (auto may = check_may_replace(path, true); !may) return fail(may.error());
  const auto numbers = command.power_of_two ? model::ZooNumbers::PowersOfTwo
                       : command.int8       ? model::ZooNumbers::Int8
                                            : model::ZooNumbers::Float32;
  std::ifstream whole;
  {
    std::stop_source stop;
    const StopOnInterrupt stopping(*interrupt, stop);
    const auto written =
        model::write_zoo_network(*network, command.seed, path, numbers, stop.get_token());
    if (out && written) whole.open(path, std::ios::binary);
    scratch.reset();
    if (!written && written.error().code == ErrorCode::Canceled) return kInterrupted;
    if (!written) return fail(written.error());
  }
  interrupt.reset();
  if (out) std::cout << whole.rdbuf() << std::flush;
  note(fmt::format("{}: {}, seeded weights{}", out ? "standard output" : path, network->words,
                   command.int8 ? ", quantised to int8" : ""));
  return kFine;
}

}  // namespace

void add_zoo_command(CLI::App& app, int& status) {
  auto* zoo = app.add_subcommand(
      "zoo",
      "Writes a well-known network as an ONNX file, with seeded weights, to try things with");
  auto command = std::make_shared<ZooCommand>();
  auto* name = zoo->add_option("NETWORK", command->name, "Which one; without it they are listed");
  zoo->add_option("-o,--output", command->path,
                  "The file (default: NETWORK.onnx); -: standard output");
  zoo->add_option("--seed", command->seed, "Of the weights")->capture_default_str();
  auto* int8 =
      zoo->add_flag("--int8", command->int8,
                    "Quantised, by QuantizeLinear and DequantizeLinear; takes some seconds");
  zoo->add_flag("--power-of-two", command->power_of_two,
                "Scales that are powers of two, as accelerators with shifts take them")
      ->needs(int8);
  zoo->add_flag("--json", command->json, "JSON lines of the list")->excludes(name);
  zoo->footer(
      "The structure is as published, for one image of the usual size; no weight is trained.");
  zoo->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app

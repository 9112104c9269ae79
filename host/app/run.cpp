// fettle run: a network file run and timed, in this process as fettle-run does, or on a device of
// the fleet.
#include <ostream>

#include "host/app/commands.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/app/run_on_device.h"
#include "host/app/run_page.h"
#include "host/model/pieces/onnx_tasks.h"
#include "runtime/run/run_network.h"

namespace fettle::app {
namespace {

struct RunCommand {
  fettle::run::RunOptions options;
  DeviceOfRun device;
  std::string page;  // HTML file of the profile; "": none
};

Result<void> run(const RunCommand& command) {
  const std::string& file = command.options.network;
  if (model::is_onnx_file(file)) {
    return Error{ErrorCode::InvalidArgument,
                 file + " is an ONNX file; `fettle build` makes a network of it that can be run"};
  }
  auto report = command.device.key.empty()
                    ? fettle::run::run_network(command.options, std::chrono::steady_clock::now())
                    : run_on_device(command.options, command.device);
  if (!report) return std::move(report).error();
  const std::string told = command.options.json ? json_of(*report) : text_of(*report);
  command.page == "-" ? print_beside(told) : print_text(told);
  if (!command.page.empty()) {
    auto written = with_output_file(command.page, [&](std::ostream& out) -> Result<std::string> {
      out << run_page(*report);
      return "the profile of " + report->network;
    });
    if (!written) return written;
  }
  return {};
}

}  // namespace

void add_run_command(CLI::App& app, int& status) {
  auto* run_command = app.add_subcommand(
      "run", "Runs a network that `fettle build` wrote, here or on a board, and times it");
  const auto command = std::make_shared<RunCommand>();
  fettle::run::add_run_options(*run_command, command->options);
  auto* device = run_command->add_option(
      "--device", command->device.key,
      "Run it on this device through its agent (default: in this process, on this CPU)");
  for (const char* of_this_process : {"--cores", "--cpu", "--memory"}) {
    run_command->get_option(of_this_process)->excludes(device);
  }
  run_command
      ->add_option("--broker", command->device.broker,
                   "That has the device; otherwise it is one of this machine")
      ->needs(device);
  run_command->add_option("--broker-key", command->device.broker_key, "The broker's public key")
      ->needs("--broker");
  run_command
      ->add_option("--db", command->device.db,
                   "With --profile: % of the peak that `fettle tune` measured there")
      ->needs(device, run_command->get_option("--profile"));
  run_command->add_option("--html", command->page, "Writes the profile as a page too")
      ->type_name("FILE")
      ->needs("--profile");
  run_command->footer(
      "A board without an agent: copy fettle-run of its architecture and the file there; "
      "fettle-run takes the same options.");
  run_command->callback([command, &status] {
    const auto done = run(*command);
    status = done                                       ? kFine
             : done.error().code == ErrorCode::Canceled ? kInterrupted
                                                        : fail(done.error());
  });
}

}  // namespace fettle::app

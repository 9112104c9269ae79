// The options of what records spaces (record_space_command.h).
#include "tests/bench/record_space_command.h"

#include <CLI/CLI.hpp>

namespace fettle::bench {

CLI::App* add_record_space_command(CLI::App& app, RecordSpaceOptions& options) {
  CLI::App* command = app.add_subcommand(
      "record-space", "measures every configuration of a part of a task's space, for replays");
  command
      ->add_option("NETWORK|WORKLOADS", options.network,
                   "a network, a JSON file of workloads, or a kernel (.cl, .cu, .c)")
      ->required();
  command->add_option("--task", options.task, "place in its list of tasks, from 0")
      ->capture_default_str();
  command->add_option("--device", options.device, "of this machine")->capture_default_str();
  command->add_flag("--whole", options.whole, "all options of all knobs");
  command->add_option("--sketch", options.sketch, "only this sketch of the space");
  command->add_option("--keep", options.keep,
                      "KNOB=N: so many options of that knob, or KNOB=[[1],[4]]: these; else one");
  command->add_option("--db", options.db, "where trials are kept: run again to go on")->required();
  command->add_option("--seconds", options.seconds, "stops after so long; run again to go on")
      ->capture_default_str();
  command->add_option("-o,--output", options.output, "the recording; written once complete")
      ->required();
  return command;
}

CLI::App* add_renew_features_command(CLI::App& app, std::vector<std::string>& recordings) {
  CLI::App* command = app.add_subcommand(
      "renew-features", "recordings with the features of today's back end, written over");
  command->add_option("RECORDING", recordings, "what record-space wrote")->required();
  return command;
}

}  // namespace fettle::bench

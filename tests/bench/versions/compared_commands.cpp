// Options of the commands (compared_commands.h).
#include "tests/bench/versions/compared_commands.h"

#include <CLI/CLI.hpp>

namespace fettle::bench {

CLI::App* add_pipeline_command(CLI::App& app, PipelineTurnsOptions& turns) {
  PipelineBenchOptions& pipeline = turns.pipeline;
  CLI::App* command = app.add_subcommand(
      "pipeline", "the device's busy share and the overhead of a trial, through the real loop");
  command->add_flag("--json", pipeline.json, "JSON lines");
  command->add_option("--kernel-ms", pipeline.kernel_ms, "about how long a kernel runs")
      ->check(CLI::Range(0.1, 200.0))
      ->capture_default_str();
  command->add_option("--trials", pipeline.trials, "trials that count")
      ->check(CLI::Range(10u, 100000u))
      ->capture_default_str();
  command->add_option("--builders", pipeline.builders,
                      "compiler processes; 0: one per core, as a session has");
  command->add_option("--threads", pipeline.threads, "cores of the device; 0: all but one");
  command->add_option("--seed", pipeline.seed, "of the configurations")->capture_default_str();
  CLI::Option* pipeline_baseline = command->add_option(
      "--baseline", turns.baseline,
      "folder with another commit's fettle, fettle-agent and fettle-bench: by turns with these");
  command->add_option("--turns", turns.turns, "of each build, where there is a baseline")
      ->check(CLI::Range(1u, 1000u))
      ->needs(pipeline_baseline)
      ->capture_default_str();
  command->add_flag("--gate", pipeline.gate,
                    "status 1 where the device is inside timed kernels for less than 0.97 of all "
                    "time (kernels of 20 ms; 0.90 from 1 ms on), or, where there is a baseline, "
                    "a trial's overhead or a busy share is over 1.1 times worse");
  return command;
}

CLI::App* add_host_command(CLI::App& app, HostTurnsOptions& options) {
  CLI::App* command = app.add_subcommand(
      "host",
      "what a session of this machine costs the host, beside another commit's, by turns: trials "
      "per hour, the device's busy share, time by stage, and the best kernels of both");
  command->add_flag("--json", options.json, "a JSON object for each network");
  command
      ->add_option("--baseline", options.baseline,
                   "folder with that commit's fettle and fettle-agent")
      ->required();
  command->add_option("--candidate", options.candidate,
                      "the same of what is judged; without it: where this program lies");
  command->add_option("--networks", options.networks, "networks, or .json files of workloads")
      ->capture_default_str();
  command->add_option("--seeds", options.seeds, "sessions of each network and side")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  command->add_option("--trials", options.trials, "of each session")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  return command;
}

CLI::App* add_versions_command(CLI::App& app, VersionsBenchOptions& options) {
  CLI::App* command = app.add_subcommand(
      "versions",
      "another commit's programs and these, by turns: trials per hour, and each layer's best "
      "kernel; with one thread");
  command->add_flag("--json", options.json, "JSON lines");
  command
      ->add_option("--baseline", options.baseline,
                   "folder with that commit's fettle, fettle-agent and fettle-bench")
      ->required();
  command->add_option("--candidate", options.candidate,
                      "the same of what is judged; without it: where this program lies");
  command->add_option("--networks", options.networks, "networks, or .json files of workloads")
      ->capture_default_str();
  command->add_option("--seeds", options.seeds, "tunes of each network and side")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  command->add_option("--trials", options.trials, "of each tune")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  command->add_option("--turns", options.turns, "times that the kernels of each tune are timed")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command->add_option("--rounds", options.rounds, "turns of each kernel in one of them")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command->add_option(
      "--keep", options.keep,
      "databases and logs stay in this folder; run again, no finished tune is repeated");
  command->add_flag("--gate", options.gate,
                    "status 1 where kernels_geomean is below 0.99, "
                    "trials_per_hour_ratio below 1.0, or a layer is lost");
  return command;
}

}  // namespace fettle::bench

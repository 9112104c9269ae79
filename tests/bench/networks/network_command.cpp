// Options of the benchmark of whole networks (network_command.h).
#include "tests/bench/networks/network_command.h"

#include <CLI/CLI.hpp>

#include "tests/bench/networks/network_peers.h"

namespace fettle::bench {

CLI::App* add_networks_command(CLI::App& app, NetworkBenchOptions& options) {
  CLI::App* command = app.add_subcommand("networks",
                                         "whole networks of the zoo as `fettle build` compiled "
                                         "them, beside onnxruntime, ncnn, MNN and "
                                         "OpenVINO from PyPI, in turns on the same cores");
  command->add_flag("--json", options.json, "JSON lines");
  command->add_option("--networks", options.networks, "networks of the zoo")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--net", options.compiled,
                      "NAME=FILE: that network as `fettle build` wrote it; without it the peers "
                      "alone are timed");
  command->add_flag_callback(
      "--int8",
      [&options] {
        options.int8 = true;
        options.turns.bound = kInt8OutputBound;
      },
      "networks as `fettle zoo --int8` quantises them, beside the peers that take such files");
  command->add_option("--threads", options.threads, "of everyone, in turn: 1,2; 0: one per core")
      ->delimiter(',')
      ->check(CLI::Range(0u, 1024u))
      ->capture_default_str();
  command->add_option("--peers", options.peers, "only these")
      ->delimiter(',')
      ->check(CLI::IsMember(network_peer_names()))
      ->capture_default_str();
  command->add_option("--starts", options.turns.starts, "starts of everyone's process")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  command->add_option("--rounds", options.turns.rounds, "turns of each in a start")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command->add_option("--slice-ms", options.turns.slice_ms, "about how long a turn is")
      ->check(CLI::Range(1.0, 60000.0))
      ->capture_default_str();
  command->add_option("--python", options.python,
                      "one that has the peers; without it they are taken from PyPI on first use, "
                      "into the cache");
  command->add_option("--keep", options.keep,
                      "models, and what peers make of them, stay in this folder (5 GB for all)");
  command
      ->add_flag("--gate{goal}", options.gate,
                 "status 1 where a contender is absent or wrong or a threshold is missed; "
                 "--gate=resolved: those of a smaller claim")
      ->excludes("--int8");
  return command;
}

}  // namespace fettle::bench

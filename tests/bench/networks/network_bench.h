// `fettle-bench networks`: whole networks of the zoo as `fettle build` compiled them, beside
// onnxruntime, ncnn, MNN and OpenVINO from PyPI, in float32 or int8: each in a process of its own
// on the same cores, in turns, and every output compared with onnxruntime's without its
// optimisations.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"
#include "tests/bench/networks/network_turns.h"

namespace fettle::bench {

struct NetworkBenchOptions {
  std::vector<std::string> networks = {"resnet-18",    "resnet-50",    "vgg-16",
                                       "mobilenet-v1", "mobilenet-v2", "squeezenet-1.1",
                                       "densenet-121", "bert-base"};
  std::vector<std::string> compiled;    // NAME=FILE: the network as `fettle build` wrote it
  std::vector<unsigned> threads = {1};  // 0: one per core
  std::vector<std::string> peers = {"onnxruntime", "ncnn", "mnn", "openvino"};
  bool int8 = false;  // quantised networks, beside the peers that take such files
  TurnOptions turns;
  std::string python;  // one that has the peers; "": that of toolchains/network_peers.sh
  std::string keep;    // models and what peers make of them stay in this folder, and are used again
  std::string gate;    // "goal" or "resolved": an Error where it stays shut; "": none
  bool json = false;
};

// Prints a table per network and a summary per number of threads. A contender that is absent or
// wrong is named. An Error when no network could be timed at all, or when the gate stays shut.
Result<void> run_network_bench(const NetworkBenchOptions& options);

}  // namespace fettle::bench

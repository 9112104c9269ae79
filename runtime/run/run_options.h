// What fettle-run and `fettle run` are asked for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/network/loaded_network.h"
#include "runtime/tensor_files/tensor_file.h"

namespace CLI {
class App;
}

namespace fettle::run {

struct RunOptions {
  std::string network;
  std::vector<std::pair<std::string, std::string>> inputs;  // name ("": the only one) and file
  std::uint64_t seed = 1;                                   // of inputs that have no file
  std::string output;                                       // a folder or an .npz; "": nowhere
  runtime::NetworkOptions loading;
  std::uint32_t runs = 0;        // 0: ten or more, a second or longer
  std::uint64_t memory_mib = 0;  // that it may take; 0: what is free
  bool profile = false, json = false, check = false;
  std::uint32_t top = 0;  // classes that are told; 0: none, or five where there are labels
  std::string labels;     // file, a line per class
  ImageRule image;
};

// --mean, --std and --size: how an image becomes an input. `rule` outlives the parsing.
void add_image_options(CLI::App& app, ImageRule& rule);

// Adds them all; a complaint of a wrong one names it. `options` outlive the parsing.
void add_run_options(CLI::App& app, RunOptions& options);

}  // namespace fettle::run

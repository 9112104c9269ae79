// fettle-network-contender: a network file of fettle's as a contender of `fettle-bench networks`.
// It speaks as contender_protocol.py says.
//
//   fettle-network-contender NET.fettle INPUT CORE…
//
// INPUT: the raw values of the network's one input. A thread for each core.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/c_api/fettle_rt.h"

namespace {

using Clock = std::chrono::steady_clock;

long long nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// Inputs and outputs stay where the network has them, as those of the peers do.
void run(fettle_network* network) {
  if (fettle_run(network, nullptr, nullptr, nullptr) != FETTLE_OK) give_up(fettle_error());
}

fettle_network* load(int argc, char** argv) {
  std::vector<std::uint32_t> cores;
  for (int i = 3; i < argc; ++i) {
    cores.push_back(static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)));
  }
  fettle_options options{};
  options.size = sizeof options;
  options.threads = options.core_count = static_cast<std::uint32_t>(cores.size());
  options.cores = cores.data();
  fettle_network* network = nullptr;
  if (fettle_load(argv[1], &options, &network) != FETTLE_OK) give_up(fettle_error());
  return network;
}

void fill_input(fettle_network* network, const char* path) {
  fettle_tensor input{};
  input.size = sizeof input;
  if (fettle_input_count(network) != 1 || fettle_input(network, 0, &input) != FETTLE_OK) {
    give_up("the network has not one input");
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (bytes.size() != input.bytes) {
    give_up("its input has " + std::to_string(input.bytes) + " bytes, " + path + " has " +
            std::to_string(bytes.size()));
  }
  std::memcpy(input.data, bytes.data(), bytes.size());
}

void write_output(fettle_network* network, const std::string& path) {
  run(network);
  fettle_tensor output{};
  output.size = sizeof output;
  if (fettle_output(network, 0, &output) != FETTLE_OK) give_up(fettle_error());
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(output.data), static_cast<std::streamsize>(output.bytes));
  if (!file.flush()) give_up("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) give_up("usage: fettle-network-contender NET.fettle INPUT CORE...");
  const auto start = Clock::now();
  fettle_network* network = load(argc, argv);
  fill_input(network, argv[2]);
  run(network);
  std::cout << "ready {\"name\": \"fettle\", \"version\": \"" << fettle_version()
            << "\", \"load_ms\": " << static_cast<double>(nanoseconds_since(start)) * 1e-6 << "}"
            << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word, argument;
    words >> word >> argument;
    if (word == "run") {
      std::vector<long long> times(std::strtoul(argument.c_str(), nullptr, 10));
      for (long long& time : times) {
        const auto begin = Clock::now();
        run(network);
        time = nanoseconds_since(begin);
      }
      for (const long long time : times) std::cout << time << " ";
      std::cout << std::endl;
    } else if (word == "output") {
      write_output(network, argument);
      std::cout << "ok" << std::endl;
    } else {
      give_up("'" + line + "' is no request");
    }
  }
  fettle_free(network);
}

// A Builder of N child processes. A compiler that crashes, hangs, eats memory or
// writes nonsense costs the candidate it was on; its process is replaced.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "host/tune/pipeline.h"

namespace fettle::fleet {

struct BuildPoolOptions {
  // Empty: this program with the argument "build-worker", though its file be gone by then.
  std::vector<std::string> argv;
  std::string program;  // the file, where argv[0] is but a name for people
  std::size_t workers = 1;
  std::vector<int> cores;                               // where builders run; empty: anywhere
  std::chrono::milliseconds deadline{60'000};           // of one build; then BuildTimeout
  std::uint64_t memory_bytes = std::uint64_t{8} << 30;  // address space of one builder
};

class BuildPool final : public tune::Builder {
 public:
  // Starts all workers; an Error when the program cannot be started.
  static Result<std::unique_ptr<BuildPool>> start(BuildPoolOptions options);
  ~BuildPool() override;  // kills the workers; what they were on is lost

  std::size_t workers() const override;
  void submit(wire::BuildRequestT request) override;
  // Error: builders end before they build anything, with what they said.
  Result<std::vector<tune::Built>> poll(std::chrono::milliseconds wait) override;
  int ready_fd() const override;

  // Where builders run from now on: those that are there have moved when it returns. Failing to
  // move one is no error. Any thread.
  void keep_to(const std::vector<int>& cores);

 private:
  struct Loop;
  BuildPool() = default;
  std::unique_ptr<Loop> loop_;
};

}  // namespace fettle::fleet

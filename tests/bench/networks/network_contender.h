// A whole network in a process of its own that `fettle-bench networks` runs in turns: a peer, or
// ours. How it speaks: contender_protocol.py.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/asked_process.h"

namespace fettle::bench {

class NetworkContender {
 public:
  // name: in Errors; argv: of a program that speaks the protocol. Runs on those cores only, from
  // its start on. Returns when it is loaded, and stopped. Unsupported: it ended instead, with its
  // last words.
  static Result<std::unique_ptr<NetworkContender>> start(const std::string& name,
                                                         const std::vector<std::string>& argv,
                                                         const std::vector<int>& cores);

  const std::string& version() const { return version_; }
  double load_ms() const { return load_ms_; }  // until its first result was there
  pid_t pid() const { return process_->pid(); }

  // Between turns it is stopped, all of its threads: those of a peer that wait for work by
  // spinning, as some do for long, take no core from the one in turn, and it needs no option that
  // would have them sleep in their own turn.
  void wake() const;
  void stop() const;

  // Nanoseconds of each of so many runs, one behind the other. Awake only.
  Result<std::vector<double>> run(unsigned times);
  Result<std::vector<float>> output();
  // How often others took a core from one of its threads, so far.
  long interruptions() const { return process_->interruptions(); }

 private:
  explicit NetworkContender(std::unique_ptr<AskedProcess> process) : process_(std::move(process)) {}

  std::unique_ptr<AskedProcess> process_;
  std::string version_;
  double load_ms_ = 0;
};

}  // namespace fettle::bench

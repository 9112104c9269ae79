// `fettle broker` as a process of a benchmark, with keys of its own in a folder that goes with it.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/fleet/keys.h"
#include "host/process/run_program.h"

namespace fettle::bench {

class BrokerProcess {
 public:
  // program: "": fettle, where this program lies. It answers so many agents, each with a key of its
  // own as boards have, and clients that share one.
  static Result<std::unique_ptr<BrokerProcess>> start(const std::string& program, unsigned agents);
  ~BrokerProcess();
  BrokerProcess(const BrokerProcess&) = delete;

  const std::string& url() const { return url_; }
  const std::string& public_key() const { return public_key_; }
  const std::vector<fleet::KeyPair>& agents() const { return agents_; }
  const fleet::KeyPair& client() const { return client_; }

  struct Usage {
    std::uint64_t resident_bytes = 0;
    std::map<std::string, double> thread_seconds;  // of CPU, by the thread's id and name
    double seconds() const;                        // of all threads
  };
  Usage usage() const;
  bool runs() const;

 private:
  BrokerProcess() = default;
  process::ScratchFolder folder_;
  std::vector<fleet::KeyPair> agents_;
  fleet::KeyPair client_;
  std::string url_, public_key_;
  pid_t pid_ = -1;
};

}  // namespace fettle::bench

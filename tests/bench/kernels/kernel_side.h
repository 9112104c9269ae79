// KernelSide: a kind of device that `fettle-bench kernels` runs on: how a record's program runs
// there, and who else computes the same layer on it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/records/record.h"
#include "tests/bench/kernels/contender.h"
#include "tests/bench/kernels/layer.h"
#include "tests/bench/kernels/time_split.h"

namespace fettle::bench {

struct NamedPeer {
  std::string name;
  Result<std::unique_ptr<Contender>> made;  // an error: why it is not compared
};

// A column of the table: a peer beside the fastest.
struct PeerColumn {
  const char* title;
  const char* peer;
  bool ratio;  // followed by one of the ratio
};

// One contender of ours at a time: the device holds one program.
class KernelSide {
 public:
  virtual ~KernelSide() = default;
  virtual std::string heading() const = 0;        // what runs, and its peers' versions
  virtual const char* fastest_title() const = 0;  // of the fastest peer: "oneDNN"
  virtual std::vector<PeerColumn> columns() const = 0;
  virtual void describe(nlohmann::json& summary) const = 0;
  // How well programs made for that target fit this device, 0: they do not run. Of those that fit
  // best the fastest is compared.
  virtual int fit(const std::string& recorded_target) const = 0;
  virtual int threads_of(const std::string& recorded_target) const = 0;  // 0: the kind has none
  virtual Result<std::unique_ptr<Contender>> ours(const Layer& layer,
                                                  const records::TuningRecord& record) = 0;
  virtual std::vector<NamedPeer> peers(const Layer& layer) = 0;
  // Before a turn: threads of the one before may still spin.
  virtual double pause_ms() const = 0;
  // Null: this kind cannot say where the time goes.
  virtual const Peak* peak() const = 0;
  virtual Result<TimeSplit> split(const Layer& layer, const records::TuningRecord& record) = 0;
};

}  // namespace fettle::bench

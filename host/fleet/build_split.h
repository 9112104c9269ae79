// One Builder of two: this machine's own compilers and the broker's build workers. Each next
// candidate goes to the one that has less to do for its size, so that each gets what it can do.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "host/fleet/remote_builder.h"
#include "host/tune/pipeline.h"

namespace fettle::fleet {

class BuildSplit final : public tune::Builder {
 public:
  // Either may be null, not both. Neither is called from elsewhere any more.
  BuildSplit(tune::Builder* own, std::unique_ptr<RemoteBuilder> remote);
  ~BuildSplit() override;

  std::size_t workers() const override;
  std::size_t remote_workers() const override;
  void submit(wire::BuildRequestT request) override;
  // What the fleet failed to do, this machine does. Error: its compilers cannot be started, or
  // where there are none the broker is gone.
  Result<std::vector<tune::Built>> poll(std::chrono::milliseconds wait) override;
  int ready_fd() const override { return ready_fd_; }

 private:
  bool goes_away() const;
  Result<void> poll_remote(std::vector<tune::Built>& results);
  void take_back();

  tune::Builder* own_;
  std::unique_ptr<RemoteBuilder> remote_;
  std::set<std::uint64_t> here_;
  std::map<std::uint64_t, wire::BuildRequestT> away_;  // by their ids
  int ready_fd_ = -1;                                  // of both
};

}  // namespace fettle::fleet

// A broker's state on disk: FOLDER/broker.db and FOLDER/blobs. What is saved is written moments
// later and survives the end of the process however it ends; what was not yet written then is done
// again by the next one, as a trial whose result is lost. After a power cut the last moments may be
// missing too, the rest is whole. One broker at a time has it.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/fleet/broker_state.h"
#include "host/fleet/state_blobs.h"
#include "host/records/sqlite.h"

namespace fettle::fleet {

class StateFile {
 public:
  using Log = std::function<void(const std::string&)>;

  // What cannot be read is put aside under another name and told to `log`, which is called from
  // the file's own thread later. Errors: Timeout (another broker has it), VersionMismatch (a later
  // fettle's, which is left as it is), Io, DiskFull.
  static Result<std::unique_ptr<StateFile>> open(const std::filesystem::path& folder, Log log,
                                                 std::size_t most_waiting = std::size_t{256} << 20);
  ~StateFile();  // writes what was saved

  // Of the broker, the same in each run.
  std::uint64_t instance() const { return instance_; }
  // What was there when it was opened, once.
  BrokerState take_state() { return std::exchange(state_, {}); }

  // In order, by a thread of its own, many in one transaction. Waits while too much waits. What
  // cannot be written is tried again, until too much waits: then it is lost, which is told.
  void save(std::vector<StateChange> changes);

 private:
  StateFile(StateBlobs blobs, Log log, std::size_t most_waiting)
      : blobs_(std::move(blobs)), log_(std::move(log)), most_waiting_(most_waiting) {}
  Result<void> load(const std::filesystem::path& file);
  void load_blobs();
  void run();
  Result<void> write(const std::vector<StateChange>& changes);
  void keep_for_later(std::vector<StateChange> batch);
  void tell(const std::string& complaint);
  void tell_of_blobs();

  StateBlobs blobs_;
  Log log_;
  std::size_t most_waiting_;  // bytes
  std::unique_ptr<records::SqliteConnection> connection_;
  BrokerState state_;
  std::uint64_t instance_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<StateChange> waiting_;  // guarded, as those below
  std::size_t waiting_bytes_ = 0;
  bool stopping_ = false;
  bool failing_ = false;  // the last batch could not be written
  // Of the thread alone: each told once.
  std::string complaint_, blob_complaint_, told_of_blobs_;
  std::thread thread_;
};

}  // namespace fettle::fleet

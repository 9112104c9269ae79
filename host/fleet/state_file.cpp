// The state's database and the thread that writes it (state_file.h).
#include "host/fleet/state_file.h"

#include <sys/stat.h>
#include <cerrno>
#include <cstring>
#include <set>

#include "host/fleet/state_rows.h"

namespace fettle::fleet {
namespace {

constexpr milliseconds kGather{20};   // what ends within it never reaches the disk
constexpr milliseconds kAgain{1000};  // what could not be written

std::size_t bytes_of(const StateChange& change) {
  if (const auto* trial = std::get_if<SavedTrial>(&change)) return 512 + trial->request->size();
  if (const auto* outcome = std::get_if<SavedOutcome>(&change))
    return 512 + outcome->message->size();
  if (const auto* blob = std::get_if<SavedBlob>(&change)) return 512 + blob->blob.bytes;
  return 512;
}

const TrialKey* begun_trial(const StateChange& change) {
  if (const auto* trial = std::get_if<SavedTrial>(&change)) return &trial->key;
  if (const auto* lease = std::get_if<SavedLease>(&change)) return &lease->key;
  if (const auto* ended = std::get_if<LeaseEnded>(&change)) return &ended->key;
  return nullptr;
}

// FILE.damaged-1 and so on, with what SQLite keeps beside it.
Result<std::string> put_aside(const std::filesystem::path& file) {
  std::filesystem::path aside;
  std::error_code failed;
  for (int i = 1; i < 1000; ++i) {
    aside = file.string() + ".damaged-" + std::to_string(i);
    if (!std::filesystem::exists(aside, failed)) break;
  }
  std::filesystem::rename(file, aside, failed);
  if (failed) {
    return Error{ErrorCode::Io, "cannot put " + file.string() + " aside: " + failed.message(), {}};
  }
  for (const char* beside : {"-wal", "-shm", "-journal"}) {
    std::filesystem::rename(file.string() + beside, aside.string() + beside, failed);
  }
  return aside.string();
}

}  // namespace

Result<std::unique_ptr<StateFile>> StateFile::open(const std::filesystem::path& folder, Log log,
                                                   std::size_t most_waiting) {
  const std::string doing = "opening the broker's state in " + folder.string();
  std::error_code failed;
  std::filesystem::create_directories(folder.parent_path(), failed);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorCode::Io, std::strerror(errno), {doing}};
  }
  auto blobs = StateBlobs::open(folder / "blobs");
  if (!blobs) return std::move(blobs).error().in(doing);
  std::unique_ptr<StateFile> state(new StateFile(std::move(*blobs), std::move(log), most_waiting));
  const auto file = folder / "broker.db";
  auto loaded = state->load(file);
  if (!loaded && loaded.error().code == ErrorCode::Malformed) {
    state->connection_.reset();
    const auto aside = put_aside(file);
    if (!aside) return Error(aside.error()).in(doing);
    if (state->log_) {
      state->log_("the broker's state " + file.string() + " is damaged (" + loaded.error().text() +
                  "): it was put aside as " + *aside + ", and the broker starts without it");
    }
    state->state_ = {};
    loaded = state->load(file);
  }
  if (!loaded && loaded.error().code == ErrorCode::Timeout) {
    return Error{ErrorCode::Timeout,
                 "another broker keeps its state in " + folder.string() +
                     ": give this one a folder of its own (--state)",
                 {doing}};
  }
  if (!loaded) return std::move(loaded).error().in(doing);
  state->load_blobs();
  state->thread_ = std::thread([raw = state.get()] { raw->run(); });
  return state;
}

Result<void> StateFile::load(const std::filesystem::path& file) {
  auto opened = records::SqliteConnection::open(
      file.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
      milliseconds(500));
  if (!opened) return std::move(opened).error();
  connection_ = std::move(*opened);
  ::chmod(file.c_str(), 0600);
  // Killed in the middle: the log is read back. An exclusive lock needs no shared memory.
  for (const char* sql : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA trusted_schema=OFF",
                          "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL"}) {
    if (auto done = connection_->execute(sql); !done) return done;
  }
  if (auto good = check_tables(*connection_, random_id()); !good) return good;
  auto rows = read_rows(*connection_);
  if (!rows) return std::move(rows).error();
  state_ = std::move(*rows);
  instance_ = state_.instance;
  return {};
}

// A blob that is not whole is no loss: its client brings it again.
void StateFile::load_blobs() {
  std::set<std::string> kept;
  auto rows = connection_->prepare("SELECT hash, owner FROM blobs");
  while (rows) {
    const auto row = rows->step();
    if (!row || !*row) break;
    const auto hash = hash_from_hex(rows->text(0));
    auto blob = hash ? blobs_.read(*hash)
                     : Result<StoredBlob>(Error{ErrorCode::Malformed, "a name that is no hash"});
    if (!blob) {
      if (log_) log_("a blob of the broker's state is left out: " + blob.error().text());
      continue;
    }
    kept.insert(rows->text(0));
    state_.blobs.push_back({*hash, std::move(*blob), rows->text(1)});
  }
  blobs_.keep_only(kept);
}

void StateFile::save(std::vector<StateChange> changes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_bytes_ < most_waiting_ || stopping_ || failing_; });
  for (StateChange& change : changes) {
    waiting_bytes_ += bytes_of(change);
    waiting_.push_back(std::move(change));
  }
  changed_.notify_all();
}

void StateFile::run() {
  while (true) {
    std::vector<StateChange> batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !waiting_.empty() || stopping_; });
      changed_.wait_for(lock, failing_ ? kAgain : kGather, [&] { return stopping_; });
      if (waiting_.empty()) return;
      batch = std::exchange(waiting_, {});
      waiting_bytes_ = 0;
    }
    changed_.notify_all();
    const auto written = write(batch);
    tell_of_blobs();
    tell(written ? "" : written.error().text());
    // What the database refuses for another reason would hold up all that comes after.
    const bool may_pass = !written && (written.error().code == ErrorCode::DiskFull ||
                                       written.error().code == ErrorCode::Io);
    if (may_pass) keep_for_later(std::move(batch));
    const std::lock_guard lock(mutex_);
    failing_ = may_pass;
    changed_.notify_all();
    if (failing_ && stopping_) return;
  }
}

// Before what came since. A broker never waits for a disk that is full: what is too much is lost.
void StateFile::keep_for_later(std::vector<StateChange> batch) {
  const std::lock_guard lock(mutex_);
  for (const StateChange& change : batch) waiting_bytes_ += bytes_of(change);
  for (StateChange& change : waiting_) batch.push_back(std::move(change));
  waiting_ = std::move(batch);
  if (waiting_bytes_ < most_waiting_) return;
  waiting_.clear();
  waiting_bytes_ = 0;
}

void StateFile::tell_of_blobs() {
  const std::string complaint = std::exchange(blob_complaint_, "");
  if (complaint != told_of_blobs_ && !complaint.empty() && log_) {
    log_("blobs of the broker's state are not kept: " + complaint);
  }
  told_of_blobs_ = complaint;
}

// Once each; "": all is well.
void StateFile::tell(const std::string& complaint) {
  if (complaint == complaint_) return;
  complaint_ = complaint;
  if (!log_) return;
  log_(complaint.empty() ? "the broker's state is kept again"
                         : "the broker's state is not kept: " + complaint +
                               "; what it does now is lost if it is killed");
}

Result<void> StateFile::write(const std::vector<StateChange>& changes) {
  // Whose end comes in the same batch need not be written before.
  std::set<TrialKey> ended;
  for (const StateChange& change : changes) {
    if (const auto* outcome = std::get_if<SavedOutcome>(&change)) ended.insert(outcome->key);
  }
  auto transaction = records::Transaction::begin(*connection_);
  if (!transaction) return std::move(transaction).error();
  auto rows = StateRows::prepare(*connection_);
  if (!rows) return std::move(rows).error();
  for (const StateChange& change : changes) {
    if (const TrialKey* trial = begun_trial(change); trial && ended.count(*trial) != 0) continue;
    if (const auto* blob = std::get_if<SavedBlob>(&change)) {
      // No room for it costs nothing else: without its row, its client is asked for it again.
      if (auto kept = blobs_.keep(blob->hash, blob->blob); !kept) {
        blob_complaint_ = kept.error().text();
        continue;
      }
    } else if (const auto* gone = std::get_if<BlobGone>(&change)) {
      blobs_.drop(gone->hash);
    }
    if (auto applied = rows->apply(change); !applied) return applied;
  }
  return transaction->commit();
}

StateFile::~StateFile() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace fettle::fleet

// Starting, waiting, and what was said (run_program.h).
#include "host/process/run_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <thread>

#include "host/process/child_process.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::process {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostSaid = 64 << 10;
constexpr std::chrono::milliseconds kLongestNap{20};
constexpr const char* kLent = "FETTLE_SCRATCH";  // the folder that a parent removes

std::string start_of(const std::string& path) {
  std::string said(kMostSaid, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(said.data(), static_cast<std::streamsize>(said.size()));
  said.resize(static_cast<std::size_t>(in.gcount()));
  return said;
}

// An open file that is closed with it.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// With what it started: a compiler's driver has others do the work.
void end_group(pid_t leader) {
  ::kill(-leader, SIGKILL);
  end_child(leader);
}

// Naps grow with the time that it takes.
Result<int> wait_for(pid_t child, const RunPlan& plan) {
  const auto start = Clock::now();
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) {  // it has ended, and nobody knows how
      return Error{ErrorCode::Io,
                   "waiting for " + plan.argv[0] + ": " + std::string(std::strerror(errno))};
    }
    const auto taken = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
    if (plan.stop.stop_requested()) {
      end_group(child);
      return Error{ErrorCode::Canceled, plan.argv[0] + " was stopped"};
    }
    if (taken > plan.limit) {
      end_group(child);
      return Error{ErrorCode::Timeout, plan.argv[0] + " did not end within " +
                                           std::to_string(plan.limit.count() / 1000) + " s"};
    }
    std::this_thread::sleep_for(std::clamp<std::chrono::microseconds>(
        taken / 20, std::chrono::microseconds(200), kLongestNap));
  }
}

}  // namespace

Result<Ran> run_program(const RunPlan& plan) {
  const ScratchFolder scratch;
  if (!scratch.there()) return Error{ErrorCode::Io, "no folder for temporary files can be made"};
  const Descriptor in(plan.input.empty() ? "/dev/null" : plan.input, O_RDONLY);
  const Descriptor errors(scratch.file("said"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  const Descriptor out(plan.output.empty() ? scratch.file("said") : plan.output,
                       O_WRONLY | O_CREAT | (plan.output.empty() ? O_APPEND : O_TRUNC));
  if (in.get() < 0 || out.get() < 0 || errors.get() < 0) {
    return Error{ErrorCode::Io, "the files of " + plan.argv[0] + " cannot be opened"};
  }
  ChildPlan child;
  child.argv = plan.argv;
  child.descriptors = {{in.get(), 0}, {out.get(), 1}, {errors.get(), 2}};
  child.memory_bytes = plan.memory_bytes;
  child.own_group = true;
  child.hidden = plan.hidden;
  auto pid = start_child(child);
  if (!pid) return std::move(pid).error();
  auto status = wait_for(*pid, plan);
  if (!status) return std::move(status).error();
  return Ran{*status, start_of(scratch.file("said"))};
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::stringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string place = fs::path(folder) / name;
    if (!folder.empty() && ::access(place.c_str(), X_OK) == 0) return place;
  }
  return "";
}

ScratchFolder::ScratchFolder() {
  std::error_code none;
  fs::path within = fs::temp_directory_path(none);
  if (const char* lent = std::getenv(kLent)) {
    within = lent;
    ::mkdir(lent, 0700);  // the first of this process
  }
  std::string pattern = (within / "fettle-XXXXXX").string();
  if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

LentScratch::LentScratch() {
  std::error_code none;
  std::random_device random;
  const std::uint64_t number = std::uint64_t{random()} << 32 | random();
  path_ = fs::temp_directory_path(none) / ("fettle-" + std::to_string(number));
}

LentScratch::~LentScratch() {
  // Again where a compiler that is being killed with its worker made one more file.
  for (int i = 0; i < 3; ++i) {
    std::error_code failed;
    fs::remove_all(path_, failed);
    if (!failed) return;
  }
}

std::string LentScratch::variable() const { return std::string(kLent) + "=" + path_.string(); }

std::string read_file(const std::string& path) {
  auto all = fettle::read_whole(path, kMostTensorBytes);
  return all ? *std::move(all) : std::string();
}

bool write_file(const std::string& path, const std::string& contents) {
  std::ofstream out(path, std::ios::binary);
  out.write(contents.data(), std::ssize(contents));
  return out.flush().good();
}

}  // namespace fettle::process

// A socket that is the child's standard input and output (asked_process.h).
#include "tests/bench/asked_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host/process/child_process.h"

namespace fettle::bench {
namespace {

constexpr std::chrono::minutes kGreeting{5};  // libraries are large

}  // namespace

Result<std::unique_ptr<AskedProcess>> AskedProcess::start(const std::string& name,
                                                          const std::vector<std::string>& argv,
                                                          const std::vector<int>& cores) {
  std::unique_ptr<AskedProcess> out(new AskedProcess);
  out->name_ = name;
  int ends[2];
  if (!out->folder_.there() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{ErrorCode::Io, "cannot speak with " + out->name_, {}};
  }
  out->socket_ = ends[0];
  const int words = open(out->file("stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  process::ChildPlan plan;
  plan.argv = argv;
  plan.cores = cores;
  plan.descriptors = {{ends[1], 0}, {ends[1], 1}, {words, 2}};
  auto started = process::start_child(plan);
  close(ends[1]);
  if (words >= 0) close(words);
  if (!started) return std::move(started).error();
  out->pid_ = *started;
  return out;
}

AskedProcess::~AskedProcess() {
  if (socket_ >= 0) close(socket_);
  if (pid_ > 0) (void)process::end_child(pid_);
}

Result<std::string> AskedProcess::ask(const std::string& line, std::chrono::minutes limit) {
  const std::string sent_line = line + "\n";
  for (std::size_t sent = 0; sent < sent_line.size();) {
    const ssize_t n = send(socket_, &sent_line[sent], sent_line.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return Error{ErrorCode::Crash, name_ + " has ended: " + last_words(), {}};
    sent += static_cast<std::size_t>(n);
  }
  return answer(ErrorCode::Crash, "has ended", limit);
}

Result<std::string> AskedProcess::greeting(const std::string& otherwise) {
  return answer(ErrorCode::Unsupported, otherwise, kGreeting);
}

long AskedProcess::interruptions() const {
  long all = 0;
  std::error_code gone;
  const std::string folder = "/proc/" + std::to_string(pid_) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(folder, gone)) {
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);) {
      const std::string name = "nonvoluntary_ctxt_switches:";
      if (line.starts_with(name)) all += std::strtol(line.c_str() + name.size(), nullptr, 10);
    }
  }
  return all;
}

// A Python's traceback ends with what went wrong.
std::string AskedProcess::last_words() const {
  std::string said = process::read_file(file("stderr"));
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::size_t line = said.rfind('\n');
  return said.empty() ? "it said nothing" : line == said.npos ? said : said.substr(line + 1);
}

Result<std::string> AskedProcess::answer(ErrorCode code, const std::string& ended,
                                         std::chrono::minutes limit) {
  const auto most = static_cast<int>(std::chrono::milliseconds(limit).count());
  while (unread_.find('\n') == std::string::npos) {
    pollfd ready{socket_, POLLIN, 0};
    char piece[4096];
    if (poll(&ready, 1, most) == 0) {
      return Error{ErrorCode::Timeout, name_ + " gives no answer", {}};
    }
    const ssize_t n = recv(socket_, piece, sizeof piece, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error{code, name_ + " " + ended + ": " + last_words(), {}};
    unread_.append(piece, static_cast<std::size_t>(n));
  }
  const std::size_t end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

}  // namespace fettle::bench

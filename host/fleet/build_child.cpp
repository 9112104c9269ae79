// A build worker's process, frames and last words (build_child.h).
#include "host/fleet/build_child.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/process/child_process.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kStderrTail = 600;  // characters of it that go into a failure
constexpr std::size_t kReadAtOnce = 1 << 16;

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = c == '\n' ? '|' : ' ';
  return text;
}

Bytes frame_of(const wire::BuildRequestT& request) {
  wire::BuildMessageT message;
  message.body.Set(wire::BuildRequestT(request));
  const Bytes body = encode(message);
  const auto size = static_cast<std::uint32_t>(body.size());
  Bytes frame = {std::uint8_t(size), std::uint8_t(size >> 8), std::uint8_t(size >> 16),
                 std::uint8_t(size >> 24)};
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

}  // namespace

Result<void> BuildChild::start(const BuildPoolOptions& options) {
  int pair[2], errors[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Error{ErrorCode::Io, std::string("cannot make a socket pair: ") + std::strerror(errno)};
  }
  if (::pipe2(errors, O_CLOEXEC) != 0) {
    const int failed = errno;
    ::close(pair[0]);
    ::close(pair[1]);
    return Error{ErrorCode::Io, std::string("cannot make a pipe: ") + std::strerror(failed)};
  }
  process::ChildPlan plan;
  plan.argv = options.argv;
  plan.program = options.program;
  scratch_.emplace();
  plan.environment = {scratch_->variable()};
  plan.descriptors = {{pair[1], 0}, {pair[1], 1}, {errors[1], 2}};
  plan.cores = options.cores;
  plan.memory_bytes = options.memory_bytes;
  auto pid = process::start_child(plan);
  ::close(pair[1]);
  ::close(errors[1]);
  if (!pid) {
    ::close(pair[0]);
    ::close(errors[0]);
    scratch_.reset();
    return std::move(pid).error().in("starting a build worker");
  }
  ::fcntl(pair[0], F_SETFL, O_NONBLOCK);
  ::fcntl(errors[0], F_SETFL, O_NONBLOCK);
  pid_ = *pid;
  socket_ = pair[0];
  errors_ = errors[0];
  under_way_.reset();
  to_write_.clear();
  received_.clear();
  written_ = 0;
  stderr_tail_.clear();
  return {};
}

int BuildChild::end() {
  if (pid_ < 0) return 0;
  const int status = process::end_child(pid_);
  scratch_.reset();
  read_errors();
  close_errors();
  ::close(socket_);
  socket_ = -1;
  pid_ = -1;
  return status;
}

void BuildChild::close_errors() {
  if (errors_ >= 0) ::close(errors_);
  errors_ = -1;
}

std::string BuildChild::said() const {
  const std::string tail = one_line(stderr_tail_);
  return tail.empty() ? "" : "; it said: " + tail;
}

void BuildChild::read_errors() {
  if (errors_ < 0) return;
  char text[4096];
  ssize_t n;
  while ((n = ::read(errors_, text, sizeof text)) > 0) {
    stderr_tail_.append(text, static_cast<std::size_t>(n));
    if (stderr_tail_.size() > kStderrTail) {
      stderr_tail_.erase(0, stderr_tail_.size() - kStderrTail);
    }
  }
  if (n == 0) close_errors();  // or poll would report its end for ever
}

void BuildChild::send(const wire::BuildRequestT& request) {
  to_write_ = frame_of(request);
  under_way_ = UnderWay{request.id, Clock::now()};
  write_on();
}

void BuildChild::write_on() {
  while (written_ < to_write_.size()) {
    const ssize_t n =
        ::send(socket_, to_write_.data() + written_, to_write_.size() - written_, MSG_NOSIGNAL);
    if (n < 0) return;  // full, or dead: the next read tells
    written_ += static_cast<std::size_t>(n);
  }
  to_write_.clear();
  written_ = 0;
}

BuildChild::Heard BuildChild::hear() {
  Heard heard;
  while (true) {
    const std::size_t old = received_.size();
    received_.resize(old + kReadAtOnce);
    const ssize_t n = ::recv(socket_, received_.data() + old, kReadAtOnce, 0);
    received_.resize(old + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0) continue;
    if (n < 0 && errno == EINTR) continue;
    heard.ended = n == 0 || errno != EAGAIN;
    break;
  }
  while (received_.size() >= 4) {
    const Bytes& head = received_;
    const std::size_t size = std::size_t{head[0]} | std::size_t{head[1]} << 8 |
                             std::size_t{head[2]} << 16 | std::size_t{head[3]} << 24;
    if (size > limits::kMessageBytes) {
      heard.nonsense = "the build worker wrote what is no frame";
      return heard;
    }
    if (received_.size() < 4 + size) break;
    auto message = decode_build_message(ByteView(received_).subspan(4, size));
    auto* result = message ? message->body.AsBuildResult() : nullptr;
    if (result == nullptr || !under_way_ || result->id != under_way_->id) {
      heard.nonsense = "the build worker wrote what is no answer to its request" +
                       (message ? std::string() : ": " + message.error().text());
      return heard;
    }
    received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(4 + size));
    under_way_.reset();
    stderr_tail_.clear();
    heard.results.push_back(std::move(*result));
  }
  return heard;
}

}  // namespace fettle::fleet

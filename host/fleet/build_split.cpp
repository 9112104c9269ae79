// Shares of two builders (build_split.h).
#include "host/fleet/build_split.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace fettle::fleet {

BuildSplit::BuildSplit(tune::Builder* own, std::unique_ptr<RemoteBuilder> remote)
    : own_(own), remote_(std::move(remote)), ready_fd_(::epoll_create1(EPOLL_CLOEXEC)) {
  for (const int fd : {own_ ? own_->ready_fd() : -1, remote_ ? remote_->ready_fd() : -1}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (fd >= 0) ::epoll_ctl(ready_fd_, EPOLL_CTL_ADD, fd, &event);
  }
}

BuildSplit::~BuildSplit() {
  if (ready_fd_ >= 0) ::close(ready_fd_);
}

std::size_t BuildSplit::workers() const {
  return (own_ ? own_->workers() : 0) + (remote_ ? remote_->capacity() : 0);
}

std::size_t BuildSplit::remote_workers() const { return remote_ ? remote_->workers() : 0; }

// Shares are compared of what each can have in its hands at once.
bool BuildSplit::goes_away() const {
  if (!own_) return true;
  const std::size_t places = remote_ ? remote_->capacity() : 0;
  if (away_.size() >= places) return false;
  return away_.size() * own_->workers() < here_.size() * places;
}

void BuildSplit::submit(wire::BuildRequestT request) {
  if (!goes_away()) {
    here_.insert(request.id);
    return own_->submit(std::move(request));
  }
  away_[request.id] = request;
  remote_->submit(std::move(request));
}

// The fleet's candidates are this machine's now.
void BuildSplit::take_back() {
  for (auto& [id, request] : std::exchange(away_, {})) {
    here_.insert(id);
    own_->submit(std::move(request));
  }
}

Result<void> BuildSplit::poll_remote(std::vector<tune::Built>& results) {
  auto built = remote_->poll(std::chrono::milliseconds(0));
  if (!built) {
    if (!own_) return std::move(built).error();
    remote_.reset();
    take_back();
    return {};
  }
  for (tune::Built& each : *built) {
    auto request = away_.extract(each.id);
    if (request.empty()) continue;
    const auto* failure = each.result.body.AsFailure();
    if (own_ && failure && failure->stage != wire::Stage::Build) {
      here_.insert(each.id);
      own_->submit(std::move(request.mapped()));
      continue;
    }
    results.push_back(std::move(each));
  }
  // The last worker went: the broker waits for another, this machine need not.
  if (own_ && !away_.empty() && remote_->capacity() == 0) {
    remote_->forget_all();
    take_back();
  }
  return {};
}

Result<std::vector<tune::Built>> BuildSplit::poll(std::chrono::milliseconds wait) {
  pollfd ready{ready_fd_, POLLIN, 0};
  if (wait.count() > 0) ::poll(&ready, 1, static_cast<int>(wait.count()));
  std::vector<tune::Built> results;
  if (own_) {
    auto built = own_->poll(std::chrono::milliseconds(0));
    if (!built) return std::move(built).error();
    for (tune::Built& each : *built) {
      here_.erase(each.id);
      results.push_back(std::move(each));
    }
  }
  if (remote_) {
    if (auto polled = poll_remote(results); !polled && results.empty()) return polled.error();
  }
  return results;
}

}  // namespace fettle::fleet

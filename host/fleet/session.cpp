// The Runner's side of a session (session.h).
#include "host/fleet/session.h"

#include "host/fleet/session_loop.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {

Session::Session(std::unique_ptr<SessionLoop> loop) : loop_(std::move(loop)) {
  loop_->look([&](const SessionCore& core) {
    device_ = core.device();
    board_ = core.board();
  });
}

Result<std::unique_ptr<Session>> Session::open(const BrokerAddress& broker, SessionPlan plan,
                                               const tune::StopSignal* stop) {
  auto loop = SessionLoop::open(broker, std::move(plan), stop);
  if (!loop) return std::move(loop).error();
  return std::unique_ptr<Session>(new Session(std::move(*loop)));
}

Session::~Session() = default;

std::size_t Session::boards_there() const {
  std::size_t boards = 0;
  loop_->look([&](const SessionCore& core) { boards = core.boards(); });
  return boards;
}

std::size_t Session::boards_unlike() const {
  std::size_t boards = 0;
  loop_->look([&](const SessionCore& core) { boards = core.unlike(); });
  return boards;
}

bool Session::reachable() const {
  bool there = true;
  loop_->look([&](const SessionCore& core) { there = core.reachable(); });
  return there;
}

std::size_t Session::capacity() const {
  std::size_t capacity = 0;
  loop_->look([&](const SessionCore& core) { capacity = core.capacity(); });
  return capacity;
}

void Session::offer_blob(const wire::Hash& hash, Bytes bytes) {
  loop_->with_core([&](SessionCore& core) { core.offer_blob(hash, bytes); });
}

void Session::blob_is_there(const wire::Hash& hash) {
  loop_->with_core([&](SessionCore& core) { core.blob_is_there(hash); });
}

void Session::submit(std::uint64_t trial, const wire::MeasureRequestT& request) {
  submit_to("", trial, request);
}

void Session::submit_to(const std::string& board_id, std::uint64_t trial,
                        const wire::MeasureRequestT& request) {
  Bytes encoded = encode(request);
  auto blobs = blobs_of(request);
  std::vector<Bytes> images;
  if (encoded.size() > limits::kPieceBytes) {
    wire::MeasureRequestT slim = request;
    images = take_images_out(slim);
    encoded = encode(slim);
    blobs = blobs_of(slim);
  }
  loop_->with_core([&](SessionCore& core) {
    for (const Bytes& image : images) core.offer_image(content_hash(image), image);
    core.submit(trial, encoded, std::move(blobs), board_id);
  });
}

void Session::cancel_pending() {
  loop_->with_core([](SessionCore& core) { core.cancel_pending(); });
}

Result<std::vector<tune::Measured>> Session::poll(std::chrono::milliseconds wait) {
  std::vector<tune::Measured> results;
  std::optional<Error> error;
  loop_->when_ready(wait, [&](SessionCore& core) {
    results = core.take_results();
    error = core.error();
  });
  if (results.empty() && error) return std::move(*error);
  return results;
}

int Session::ready_fd() const { return loop_->ready_fd(); }

}  // namespace fettle::fleet

// The Runner's side of a session, and the device list's short talk (session.h).
#include "host/fleet/session.h"

#include <zmq.hpp>

#include "host/fleet/curve.h"
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
    for (const Bytes& image : images) core.offer_blob(content_hash(image), image);
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

Result<wire::DeviceListT> list_devices(const BrokerAddress& broker,
                                       std::chrono::milliseconds answer_within) {
  zmq::context_t context;
  // A thousand boards and what each is fit into no socket's usual limit.
  auto socket =
      make_client(context, broker.url, broker.keys, broker.public_key, limits::kMessageBytes);
  if (!socket) return std::move(socket).error();
  const auto say = [&](const SharedBytes& bytes) {
    zmq::message_t message(bytes->data(), bytes->size());
    socket->send(message, zmq::send_flags::none);
  };
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.software_version = FETTLE_VERSION;
  hello.role = wire::Role::Client;
  hello.instance = random_id();
  const TimePoint end = Clock::now() + answer_within;
  try {
    say(pack_message(std::move(hello)));
    while (Clock::now() < end) {
      zmq::pollitem_t item{socket->handle(), 0, ZMQ_POLLIN, 0};
      const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
      zmq::poll(&item, 1, std::max(left, milliseconds(0)));
      zmq::message_t message;
      if (!socket->recv(message, zmq::recv_flags::dontwait)) continue;
      auto decoded =
          decode_message({static_cast<const std::uint8_t*>(message.data()), message.size()});
      if (!decoded)
        return std::move(decoded).error().in("asking " + broker.url + " for its devices");
      if (decoded->body.AsWelcome()) say(pack_message(wire::ListDevicesT{}));
      if (auto* list = decoded->body.AsDeviceList()) return std::move(*list);
      if (auto* reject = decoded->body.AsReject()) {
        return from_wire(*reject->error).in("asking " + broker.url + " for its devices");
      }
    }
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::Io, "talking to " + broker.url + ": " + error.what()};
  }
  return no_answer(broker.url, broker.keys.public_key, answer_within);
}

}  // namespace fettle::fleet

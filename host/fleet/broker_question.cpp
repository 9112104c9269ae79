// A socket for one question (broker_question.h).
#include "host/fleet/broker_question.h"

#include <cerrno>
#include <functional>
#include <zmq.hpp>

#include "host/fleet/curve.h"
#include "host/fleet/reachable.h"
#include "host/fleet/session_core.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

constexpr milliseconds kLastWords{200};

constexpr milliseconds kLook{100};        // for a stop
constexpr milliseconds kFirstLook{1000};  // for what TCP says

bool wait_for(zmq::socket_t& socket, milliseconds time) {
  zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
  try {
    return zmq::poll(&item, 1, std::max(time, milliseconds(0))) > 0;
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
    return false;
  }
}

// Says Hello, then the question, waits for the message that `answers` it, and says goodbye.
Result<wire::MessageT> ask(const BrokerAddress& broker, const SharedBytes& question,
                           const std::function<bool(const wire::MessageT&)>& answers,
                           const std::string& doing, milliseconds answer_within,
                           const tune::StopSignal* stop = nullptr) {
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.software_version = FETTLE_VERSION;
  hello.role = wire::Role::Client;
  hello.instance = random_id();
  const TimePoint end = Clock::now() + answer_within;
  bool looked = false;  // why nobody answers
  try {
    zmq::context_t context;  // no descriptor may be left for it
    // A thousand boards and what each is fit into no socket's usual limit.
    auto socket =
        make_client(context, broker.url, broker.keys, broker.public_key, limits::kMessageBytes);
    if (!socket) return std::move(socket).error();
    const auto say = [&](const SharedBytes& bytes) {
      zmq::message_t message(bytes->data(), bytes->size());
      socket->send(message, zmq::send_flags::none);
    };
    say(pack_message(std::move(hello)));
    while (Clock::now() < end) {
      if (stop != nullptr && stop->requested()) return Error{ErrorCode::Canceled, "interrupted"};
      const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
      zmq::message_t message;
      if (!wait_for(*socket, std::min(left, kLook)) ||
          !socket->recv(message, zmq::recv_flags::dontwait)) {
        // One that is started at the same time gets a moment.
        if (looked || end - Clock::now() > answer_within - kFirstLook) continue;
        looked = true;
        if (const std::string cause = why_unreachable(broker.url); !cause.empty())
          return no_answer(broker.url, cause);
        continue;
      }
      auto decoded =
          decode_message({static_cast<const std::uint8_t*>(message.data()), message.size()});
      if (!decoded) return std::move(decoded).error().in(doing);
      if (decoded->body.AsWelcome()) say(question);
      if (answers(*decoded)) {
        say(pack_message(wire::GoodbyeT{}));
        socket->set(zmq::sockopt::linger, static_cast<int>(kLastWords.count()));
        return std::move(*decoded);
      }
      if (auto* reject = decoded->body.AsReject()) return from_wire(*reject->error).in(doing);
    }
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::Io, "talking to " + broker.url + ": " + error.what()};
  }
  return no_answer(broker.url, broker.keys.public_key, answer_within);
}

Result<wire::BoardAnswerT> ask_about_board(const BrokerAddress& broker, const SharedBytes& question,
                                           const std::string& doing, milliseconds answer_within) {
  auto said = ask(
      broker, question,
      [](const wire::MessageT& message) { return message.body.AsBoardAnswer() != nullptr; }, doing,
      answer_within);
  // As decode_message() says it there.
  if (!said && said.error().message.find("does not know") != std::string::npos) {
    return Error{ErrorCode::Unsupported,
                 "the broker at " + broker.url + " is older than reservations: update it"};
  }
  if (!said) return std::move(said).error();
  wire::BoardAnswerT answer = std::move(*said->body.AsBoardAnswer());
  if (answer.error) return from_wire(*answer.error).in(doing);
  return answer;
}

}  // namespace

Result<wire::DeviceListT> list_devices(const BrokerAddress& broker,
                                       std::chrono::milliseconds answer_within,
                                       const tune::StopSignal* stop) {
  auto said = ask(
      broker, pack_message(wire::ListDevicesT{}),
      [](const wire::MessageT& message) { return message.body.AsDeviceList() != nullptr; },
      "asking " + broker.url + " for its devices", answer_within, stop);
  if (!said) return std::move(said).error();
  return std::move(*said->body.AsDeviceList());
}

Result<wire::BoardAnswerT> reserve_board(const BrokerAddress& broker, const std::string& board,
                                         std::chrono::seconds time, const std::string& note,
                                         std::chrono::milliseconds answer_within) {
  wire::ReserveBoardT question;
  question.board = board;
  question.seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  question.note = note;
  return ask_about_board(broker, pack_message(std::move(question)), "reserving a board",
                         answer_within);
}

Result<wire::BoardAnswerT> release_board(const BrokerAddress& broker, const std::string& board,
                                         std::chrono::milliseconds answer_within) {
  wire::ReleaseBoardT question;
  question.board = board;
  return ask_about_board(broker, pack_message(std::move(question)), "releasing a board",
                         answer_within);
}

}  // namespace fettle::fleet

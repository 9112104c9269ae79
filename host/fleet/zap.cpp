// ZAP requests: version, id, domain, address, identity, mechanism, credentials.
#include "host/fleet/zap.h"

#include <chrono>
#include <string_view>
#include <vector>

namespace fettle::fleet {
namespace {

void reply(zmq::socket_t& socket, std::string_view id, std::string_view status,
           std::string_view user) {
  const std::string_view frames[] = {"1.0", id, status, "", user, ""};
  for (std::size_t i = 0; i < 6; ++i) {
    socket.send(zmq::buffer(frames[i]), i < 5 ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

// "" for who is not let in.
std::string user_of(const std::vector<zmq::message_t>& frames, const ZapHandler::Allows& allows,
                    const ZapHandler::Refused& refused) {
  std::string user;
  if (frames.size() == 7 && frames[0].to_string() == "1.0" && frames[5].to_string() == "CURVE" &&
      frames[6].size() == 32) {
    char key[41];
    zmq_z85_encode(key, static_cast<const std::uint8_t*>(frames[6].data()), 32);
    if (allows(key))
      user = key;
    else if (refused)
      refused(key, frames[3].to_string());
  }
  return user;
}

// A request that was read is answered whatever happens: a REP socket takes no other before.
void answer(zmq::socket_t& socket, const ZapHandler::Allows& allows,
            const ZapHandler::Refused& refused) {
  std::vector<zmq::message_t> frames;
  do {
    frames.emplace_back();
    if (!socket.recv(frames.back())) return;
  } while (frames.back().more());
  const std::string_view id = frames.size() > 1 ? frames[1].to_string_view() : "";
  std::string user;
  bool failed = false;
  try {
    user = user_of(frames, allows, refused);
  } catch (const std::exception&) {
    failed = true;  // no memory, say: this one is not let in now, and may dial again
  }
  reply(socket, id, failed ? "500" : user.empty() ? "300" : "200", user);
}

}  // namespace

ZapHandler::ZapHandler(zmq::context_t& context, Allows allows, Refused refused)
    : replies_(context, zmq::socket_type::rep),
      stop_(context, zmq::socket_type::pair),
      stopped_(context, zmq::socket_type::pair) {
  replies_.bind("inproc://zeromq.zap.01");
  stopped_.bind("inproc://fettle.zap.stop");
  stop_.connect("inproc://fettle.zap.stop");
  thread_ = std::thread([this, allows = std::move(allows), refused = std::move(refused)] {
    zmq::pollitem_t items[] = {{replies_.handle(), 0, ZMQ_POLLIN, 0},
                               {stopped_.handle(), 0, ZMQ_POLLIN, 0}};
    while (true) {
      try {
        zmq::poll(items, 2, std::chrono::milliseconds(-1));
        if (items[1].revents != 0) return;
        if (items[0].revents != 0) answer(replies_, allows, refused);
      } catch (const zmq::error_t& error) {
        if (error.num() == ETERM) return;
        // What else there is passes, or repeats: the thread goes on, and does not spin.
        if (error.num() != EINTR) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      } catch (const std::exception&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  });
}

ZapHandler::~ZapHandler() {
  try {
    stop_.send(zmq::str_buffer("stop"), zmq::send_flags::none);
  } catch (const zmq::error_t&) {
    // The context is going down; the thread sees ETERM.
  }
  thread_.join();
}

}  // namespace fettle::fleet

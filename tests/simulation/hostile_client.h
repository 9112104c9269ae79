// A client with a valid key that does everything wrong: sessions over the limit, trials that it
// submits twice or nowhere, blobs that it never sends, priorities without bounds, garbage.
#pragma once

#include <memory>
#include <string>

#include "tests/simulation/network.h"

namespace fettle::fleet::simulation {

class HostileClient {
 public:
  HostileClient(Events& events, Network& network, Random random, std::uint32_t number,
                std::string device_key);
  void end();
  Network::Endpoint* endpoint() { return endpoint_.get(); }

 private:
  void act();
  void receive(ByteView bytes);
  template <typename BodyT>
  void say(BodyT body) {
    network_.send(*endpoint_, pack_message(std::move(body)));
  }

  Events& events_;
  Network& network_;
  Random random_;
  std::string device_key_;
  std::uint64_t instance_;
  std::shared_ptr<Network::Endpoint> endpoint_;
};

}  // namespace fettle::fleet::simulation

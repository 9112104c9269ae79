// One wrong thing after the other (hostile_client.h).
#include "tests/simulation/hostile_client.h"

#include <limits>

#include "schemas/wire/content_hash.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet::simulation {

HostileClient::HostileClient(Events& events, Network& network, Random random, std::uint32_t number,
                             std::string device_key)
    : events_(events),
      network_(network),
      random_(random),
      device_key_(std::move(device_key)),
      instance_(random_.next() | 1) {
  Permission who{"hostile-" + std::to_string(number), wire::Role::Client,
                 "key of hostile client " + std::to_string(number)};
  endpoint_ = network_.dial(std::move(who), [this](ByteView bytes) { receive(bytes); });
  act();
}

void HostileClient::end() {
  if (endpoint_) network_.close(*endpoint_);
  endpoint_.reset();
}

void HostileClient::receive(ByteView bytes) {
  const auto message = decode_message(bytes);
  if (!endpoint_ || !message || !message->body.AsHelloNeeded()) return;
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.role = wire::Role::Client;
  hello.instance = instance_;
  say(std::move(hello));
}

void HostileClient::act() {
  if (!endpoint_) return;
  const std::uint64_t session = 1 + random_.below(10);
  switch (random_.below(9)) {
    case 0: {
      wire::OpenSessionT open;
      open.session = session;
      open.device_key = random_.chance(80) ? device_key_ : "nobody's";
      open.priority = random_.chance(50) ? std::numeric_limits<std::int32_t>::min()
                                         : std::numeric_limits<std::int32_t>::max();
      say(std::move(open));
      break;
    }
    case 1:
    case 2: {
      wire::SubmitT submit;
      submit.session = session;
      submit.trial = random_.below(40);
      if (random_.chance(80)) submit.request = {1, 2, 3, 4};
      if (random_.chance(30)) {  // a blob that never comes, named twice
        submit.blobs.push_back(content_hash(Bytes(4, static_cast<std::uint8_t>(session))));
        submit.blobs.push_back(submit.blobs.back());
      }
      if (random_.chance(20)) submit.board_id = "no such board";
      say(wire::SubmitT(submit));
      say(std::move(submit));
      break;
    }
    case 3: {
      wire::CancelT cancel;
      cancel.session = session;
      cancel.trial = random_.below(40);
      say(std::move(cancel));
      break;
    }
    case 4: {
      wire::CloseSessionT close;
      close.session = session;
      say(std::move(close));
      break;
    }
    case 5: {  // of the right name and the wrong bytes, or in the wrong order
      wire::PutBlobT blob;
      const Bytes bytes(4, static_cast<std::uint8_t>(session));
      blob.hash = std::make_unique<wire::Hash>(content_hash(bytes));
      blob.bytes = random_.chance(50) ? bytes : Bytes{9, 9};
      say(std::move(blob));
      break;
    }
    case 6: {
      wire::DoneT done;  // what only agents send
      done.lease = random_.next();
      say(std::move(done));
      break;
    }
    case 7: {
      Bytes bytes = encode(message_of(wire::ListDevicesT()));
      bytes.resize(random_.below(bytes.size()));
      network_.send(*endpoint_, share(std::move(bytes)));
      break;
    }
    case 8: {
      if (random_.chance(50)) instance_ = random_.next() | 1;
      wire::HelloT hello;
      hello.protocol_version = random_.chance(90) ? limits::kProtocolVersion : 1;
      hello.role = random_.chance(90) ? wire::Role::Client : wire::Role::Agent;
      hello.instance = instance_;
      say(std::move(hello));
      break;
    }
  }
  events_.after(random_.between(10, 800), [this] { act(); });
}

}  // namespace fettle::fleet::simulation

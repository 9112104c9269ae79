// Any broker, as an agent's supervisor sees it: messages through its table, to real queues of two
// devices whose workers end at once, and to its store of blobs. Compiled with -fno-access-control:
// messages come from the fuzzer, not from a socket. Input: steps of two bytes length, then a
// message.
#include <cstdlib>

#include "agent/server/supervisor.h"
#include "host/fleet/keys.h"
#include "schemas/wire/limits.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/protocol/wire_samples.h"

using namespace fettle;

namespace {

constexpr std::uint64_t kBlobCache = 1 << 16;

std::unique_ptr<agent::Supervisor> make_supervisor() {
  agent::set_log_level(agent::LogLevel::Error);
  auto nursery = agent::Nursery::start([](std::uint32_t, int, int) { return 0; });
  const auto own = fleet::make_key_pair(), broker = fleet::make_key_pair();
  if (!nursery || !own || !broker) std::abort();
  agent::AgentOptions options;
  options.broker = "tcp://127.0.0.1:1";  // nobody is there
  options.blob_cache_bytes = kBlobCache;
  auto link = agent::BrokerLink::open(options.broker, broker->public_key,
                                      {own->public_key, own->secret_key});
  if (!link) std::abort();
  wire::BoardT board;
  board.id = "board";
  board.agent_instance = 5;
  std::vector<wire::DeviceInfoT> devices(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    devices[i].key = "pynq";
    devices[i].index = i;
  }
  return std::make_unique<agent::Supervisor>(options, board, std::move(devices),
                                             std::move(*nursery), std::move(*link), own->public_key,
                                             agent::ServiceNotifier());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto supervisor = make_supervisor();
  std::size_t assigned = 0;
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at] | data[at + 1] << 8, size - at - 2);
    auto message = decode_message({data + at + 2, length});
    at += 2 + length;
    if (!message) continue;
    // These two are told to people, each time.
    if (message->body.AsReject()) continue;
    if (const auto* welcome = message->body.AsWelcome();
        welcome && welcome->protocol_version != limits::kProtocolVersion) {
      continue;
    }
    assigned += message->body.AsAssign() != nullptr;
    supervisor->handle(*message);
    if (supervisor->leases().size() > assigned) std::abort();
    if (supervisor->exit_status_ >= 0) std::abort();
  }
  supervisor->forget_leases();
  if (!supervisor->leases().empty()) std::abort();
  return 0;
}

std::vector<Bytes> fuzz_seeds() {
  const auto add = [](Bytes& seed, const Bytes& message) {
    seed.push_back(static_cast<std::uint8_t>(message.size()));
    seed.push_back(static_cast<std::uint8_t>(message.size() >> 8));
    seed.insert(seed.end(), message.begin(), message.end());
  };
  wire::WelcomeT welcome;
  welcome.protocol_version = limits::kProtocolVersion;
  welcome.broker_instance = 7;
  welcome.heartbeat_ms = 1000;
  welcome.silence_ms = 5000;
  Bytes all;
  add(all, encode(message_of(std::move(welcome))));
  std::vector<Bytes> seeds;
  for (const auto& sample : message_samples()) {
    add(all, sample.bytes);
    Bytes one;
    add(one, sample.bytes);
    add(one, sample.bytes);
    seeds.push_back(std::move(one));
  }
  seeds.push_back(all);
  return seeds;
}

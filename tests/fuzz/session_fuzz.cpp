// Any broker, as a client's session sees it: what comes over its connection, with time passing and
// trials submitted and canceled between. Input: steps of one byte what else happens and how much
// time passes, two bytes length, then a message.
#include <cstdlib>

#include "host/fleet/session_core.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/protocol/wire_samples.h"

using namespace fettle;

namespace {

constexpr std::uint64_t kInstance = 11, kSession = 3;

Bytes request() {
  for (const auto& decoder : decoders()) {
    for (const auto& sample : decoder.samples) {
      if (decode_request(sample.bytes)) return sample.bytes;
    }
  }
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Bytes one = request(), blob(5000, 3);
  static const wire::Hash hash = content_hash(blob);
  auto now = fleet::TimePoint() + std::chrono::hours(1);
  fleet::SessionPlan plan;
  plan.device_key = "pynq";
  plan.window = 3;
  fleet::SessionCore core(plan, kInstance, kSession, now);
  core.offer_blob(hash, blob);
  std::uint64_t submitted = 0;
  for (std::size_t at = 0; at + 3 <= size;) {
    const std::uint8_t head = data[at];
    const std::size_t length =
        std::min<std::size_t>(data[at + 1] | data[at + 2] << 8, size - at - 3);
    now += fleet::milliseconds((head >> 3) * 200);
    if (head & 1) core.submit(submitted++, one, {hash});
    if ((head & 6) == 6) core.cancel_pending();
    core.receive({data + at + 3, length}, now);
    core.tick(now);
    for (const auto& outgoing : core.take_outgoing()) {
      if (!decode_message(*outgoing.bytes)) std::abort();  // it never says what it would not read
    }
    for (const auto& result : core.take_results()) {
      if (result.trial >= submitted) std::abort();  // nobody asked for it
    }
    if (core.in_flight() > submitted) std::abort();
    at += 3 + length;
  }
  core.close();
  return 0;
}

std::vector<Bytes> fuzz_seeds() {
  const auto add = [](Bytes& seed, std::uint8_t head, const Bytes& message) {
    seed.push_back(head);
    seed.push_back(static_cast<std::uint8_t>(message.size()));
    seed.push_back(static_cast<std::uint8_t>(message.size() >> 8));
    seed.insert(seed.end(), message.begin(), message.end());
  };
  wire::WelcomeT welcome;
  welcome.broker_instance = 7;
  welcome.heartbeat_ms = 1000;
  welcome.silence_ms = 5000;
  wire::SessionOpenedT opened;
  opened.session = kSession;
  opened.boards = 1;
  opened.device = std::make_unique<wire::DeviceInfoT>();
  opened.device->key = "pynq";
  wire::BlobsWantedT wanted;
  wanted.hashes = {content_hash(Bytes(5000, 3))};
  wire::CompletedT completed;
  completed.session = kSession;
  wire::OutcomeT outcome;
  outcome.body.Set(make_failure(wire::Stage::Run, {ErrorCode::Crash, "it ended", {}}));
  completed.outcome = encode(outcome);
  Bytes all;  // a whole session
  add(all, 1, encode(message_of(std::move(welcome))));
  add(all, 1, encode(message_of(std::move(opened))));
  add(all, 1, encode(message_of(std::move(wanted))));
  add(all, 9, encode(message_of(std::move(completed))));
  std::vector<Bytes> seeds = {all};
  for (const auto& sample : message_samples()) {
    Bytes one = all;
    add(one, 15, sample.bytes);
    add(one, 248, sample.bytes);
    seeds.push_back(std::move(one));
  }
  return seeds;
}

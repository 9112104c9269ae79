// The self-test (self_test.h).
#include "agent/server/self_test.h"

#include <poll.h>
#include <cstdio>
#include <cstring>

#include "agent/device/registry.h"
#include "agent/server/blob_store.h"
#include "agent/server/device_queue.h"
#include "agent/server/supervisor.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::agent {

int self_test(const wire::BoardT& board, const std::vector<wire::DeviceInfoT>& devices,
              const std::vector<bool>& may_be_missing, Nursery nursery) {
  std::printf("board %s: %s, %s, %s\n", board.id.c_str(),
              board.model.empty() ? "model unknown" : board.model.c_str(), board.hostname.c_str(),
              board.kernel.c_str());
  BlobStore blobs(1 << 20);
  int failures = 0;
  for (const wire::DeviceInfoT& info : devices) {
    SelfTestProgram test = find_device_row(info.kind)->self_test(info);
    Bytes answer(test.answer.size() * sizeof(float));
    std::memcpy(answer.data(), test.answer.data(), answer.size());
    const wire::Hash hash = content_hash(answer);
    if (auto put = blobs.put(hash, answer); !put) {
      std::printf("FAILED: %s\n", put.error().text().c_str());
      return kExitBroken;
    }
    wire::MeasureRequestT request;
    auto expected = std::make_unique<wire::ExpectedOutputT>();
    for (std::uint32_t i = 0; i < test.program.buffers.size(); ++i) {
      if (test.program.buffers[i]->role == wire::BufferRole::Output) expected->buffer = i;
    }
    expected->dtype = wire::ScalarType::Float32;
    expected->blob = std::make_unique<wire::Hash>(hash);
    request.expected.push_back(std::move(expected));
    request.program = std::make_unique<wire::ProgramT>(std::move(test.program));
    request.options = std::make_unique<wire::MeasureOptionsT>();
    request.options->min_repeat_ms = 1;

    bool finished = false, passed = false;
    std::string said;
    const auto done = [&](std::uint64_t, const Bytes& outcome) {
      finished = true;
      auto decoded = decode_outcome(outcome);
      if (!decoded) {
        said = decoded.error().text();
      } else if (const auto* failure = decoded->body.AsFailure()) {
        said = std::string(name_of(failure->error->code)) + ": " + failure->error->message;
      } else {
        passed = true;
        const auto& measured = *decoded->body.AsMeasurement();
        char text[96];
        std::snprintf(text, sizeof text, "a tiny launch takes %.1f %s", measured.median,
                      clock_facts(measured.clock).unit);
        said = text;
      }
    };
    // Nothing displaces the blobs of the only trial.
    DeviceQueue queue(info, nursery, blobs, done, [](const std::vector<wire::Hash>&) {});
    queue.accept(1, 1, encode(request));
    const std::uint64_t start = StatusPage::monotonic_ns();
    while (!finished && StatusPage::monotonic_ns() - start < 20'000'000'000u) {
      pollfd watched[2] = {{nursery.fd(), POLLIN, 0}, {queue.fd(), POLLIN, 0}};
      poll(watched, 2, queue.on_time());
      if (watched[1].revents) queue.on_readable();
      auto event = nursery.next_event();
      if (!event) break;
      if (*event) queue.on_event(**event);
    }
    if (!finished) said = "the worker gave no answer in 20 s";
    const bool missing = !passed && may_be_missing[info.index] && !queue.refusal().empty();
    std::printf("device '%s' (%s): %s, sandbox %s, %s\n", info.key.c_str(), info.name.c_str(),
                passed    ? "passed"
                : missing ? "not here"
                          : "FAILED",
                wire::EnumNameSandbox(queue.info().sandbox), said.c_str());
    if (info.cpu) {
      std::string features;
      for (const auto& feature : info.cpu->features) features += " +" + feature;
      std::printf("  %s, cpu %s%s\n", info.cpu->triple.c_str(),
                  info.cpu->cpu.empty() ? "unknown" : info.cpu->cpu.c_str(), features.c_str());
    }
    failures += passed || missing ? 0 : 1;
  }
  return failures ? kExitBroken : 0;
}

}  // namespace fettle::agent

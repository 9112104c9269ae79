// The self-test (self_test.h).
#include "agent/server/self_test.h"

#include <poll.h>
#include <cstdio>
#include <cstring>

#include "agent/platform/cpu_facts.h"
#include "agent/server/blob_store.h"
#include "agent/server/device_queue.h"
#include "agent/server/supervisor.h"
#include "schemas/wire/native_arch.h"

namespace fettle::agent {

wire::ProgramT tiny_program() {
  // *(float*)args[0] = 1.0f; return
#if defined(__x86_64__)
  static const std::uint8_t code[] = {0x48, 0x8b, 0x07,                    // mov rax, [rdi]
                                      0xc7, 0x00, 0x00, 0x00, 0x80, 0x3f,  // mov dword [rax], 1.0f
                                      0xc3};                               // ret
#elif defined(__aarch64__)
  static const std::uint8_t code[] = {0x00, 0x00, 0x40, 0xf9,   // ldr x0, [x0]
                                      0x01, 0xf0, 0xa7, 0x52,   // mov w1, #0x3f800000
                                      0x01, 0x00, 0x00, 0xb9,   // str w1, [x0]
                                      0xc0, 0x03, 0x5f, 0xd6};  // ret
#else
  static const std::uint8_t code[] = {0x00, 0x00, 0x90, 0xe5,   // ldr r0, [r0]
                                      0xfe, 0x15, 0xa0, 0xe3,   // mov r1, #0x3f800000
                                      0x00, 0x10, 0x80, 0xe5,   // str r1, [r0]
                                      0x1e, 0xff, 0x2f, 0xe1};  // bx lr
#endif
  wire::ProgramT program;
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::CpuImage;
  image->bytes.assign(std::begin(code), std::end(code));
  image->cpu = std::make_unique<wire::CpuLayoutT>();
  image->cpu->arch = native_arch();
  image->cpu->text_bytes = image->cpu->memory_bytes = sizeof code;
  auto entry = std::make_unique<wire::EntryPointT>();
  entry->name = "store_one";
  image->entries.push_back(std::move(entry));
  program.images.push_back(std::move(image));
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = "out";
  buffer->bytes = 4;
  buffer->role = wire::BufferRole::Output;
  program.buffers.push_back(std::move(buffer));
  auto launch = std::make_unique<wire::LaunchT>();
  launch->args.push_back(wire::Arg(wire::ArgKind::Buffer, 0, 0, 0, 0));
  program.launches.push_back(std::move(launch));
  return program;
}

int self_test(const wire::BoardT& board, const std::vector<wire::DeviceInfoT>& devices,
              Nursery nursery) {
  std::printf("board %s: %s, %s, %s\n", board.id.c_str(),
              board.model.empty() ? "model unknown" : board.model.c_str(), board.hostname.c_str(),
              board.kernel.c_str());
  BlobStore blobs(1 << 20);
  const float one = 1.0f;
  Bytes expected_bytes(sizeof one);
  std::memcpy(expected_bytes.data(), &one, sizeof one);
  const wire::Hash hash = content_hash(expected_bytes);
  if (auto put = blobs.put(hash, expected_bytes); !put) {
    std::printf("FAILED: %s\n", put.error().text().c_str());
    return kExitBroken;
  }
  int failures = 0;
  for (const wire::DeviceInfoT& info : devices) {
    wire::MeasureRequestT request;
    request.program = std::make_unique<wire::ProgramT>(tiny_program());
    request.options = std::make_unique<wire::MeasureOptionsT>();
    request.options->min_repeat_ms = 1;
    auto expected = std::make_unique<wire::ExpectedOutputT>();
    expected->dtype = wire::ScalarType::Float32;
    expected->blob = std::make_unique<wire::Hash>(hash);
    if (info.kind == wire::DeviceKind::Cpu) request.expected.push_back(std::move(expected));

    bool finished = false, passed = false;
    std::string said;
    DeviceQueue queue(info, nursery, blobs, [&](std::uint64_t, Bytes outcome) {
      finished = true;
      auto decoded = decode_outcome(outcome);
      if (!decoded) {
        said = decoded.error().text();
      } else if (const auto* failure = decoded->body.AsFailure()) {
        said = std::string(name_of(failure->error->code)) + ": " + failure->error->message;
      } else {
        passed = true;
        char text[96];
        std::snprintf(text, sizeof text, "a tiny launch takes %.1f ns",
                      decoded->body.AsMeasurement()->median);
        said = text;
      }
    });
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
    std::printf("device '%s' (%s): %s, sandbox %s, %s\n", info.key.c_str(), info.name.c_str(),
                passed ? "passed" : "FAILED", wire::EnumNameSandbox(queue.info().sandbox),
                said.c_str());
    if (info.cpu) {
      std::string features;
      for (const auto& feature : info.cpu->features) features += " +" + feature;
      std::printf("  %s, cpu %s%s\n", info.cpu->triple.c_str(),
                  info.cpu->cpu.empty() ? "unknown" : info.cpu->cpu.c_str(), features.c_str());
    }
    failures += passed ? 0 : 1;
  }
  return failures ? kExitBroken : 0;
}

}  // namespace fettle::agent

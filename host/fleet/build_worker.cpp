// Frames around a build function (build_worker.h).
#include "host/fleet/build_worker.h"

#include <fcntl.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <new>

#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

int give_up(const std::string& why) {
  std::fprintf(stderr, "build worker: %s\n", why.c_str());
  return 1;
}

}  // namespace

int run_build_worker(const BuildFunction& build) {
  const int in = ::fcntl(0, F_DUPFD_CLOEXEC, 3), out = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0 || out < 0 || nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(2, 1) < 0) {
    return give_up("cannot set up its descriptors");
  }
  ::close(nothing);
  while (true) {
    auto frame = read_frame(in, limits::kMessageBytes);
    if (!frame) {
      if (frame.error().code == ErrorCode::Unreachable) return 0;  // the pool is gone
      return give_up(frame.error().text());
    }
    auto message = decode_build_message(*frame);
    if (!message) return give_up(message.error().text());
    const auto* request = message->body.AsBuildRequest();
    if (request == nullptr) return give_up("got a result where a request was due");
    const auto start = std::chrono::steady_clock::now();
    wire::BuildResultT result;
    try {
      result = build(*request);
    } catch (const std::bad_alloc&) {
      result.body.Set(make_failure(wire::Stage::Build,
                                   {ErrorCode::OutOfMemory, "the compiler ran out of memory", {}}));
    }
    result.id = request->id;
    result.build_ns =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                       std::chrono::steady_clock::now() - start)
                                       .count());
    wire::BuildMessageT answer;
    answer.body.Set(std::move(result));
    if (auto wrote = write_frame(out, encode(answer)); !wrote) {
      return wrote.error().code == ErrorCode::Unreachable ? 0 : give_up(wrote.error().text());
    }
  }
}

}  // namespace fettle::fleet

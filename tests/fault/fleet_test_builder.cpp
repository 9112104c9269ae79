// A build worker that misbehaves on request: the configuration says how.
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "host/fleet/build_worker.h"
#include "host/process/run_program.h"
#include "schemas/wire/content_hash.h"

namespace {

using namespace fettle;

wire::BuildResultT build(const wire::BuildRequestT& request) {
  const std::string& how = request.configuration;
  if (how == "segv") {
    std::fprintf(stderr, "about to read where nothing is\n");
    ::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit
    ::raise(SIGSEGV);
  }
  if (how == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (how == "exit") std::_Exit(3);
  if (how == "print") std::cout << "a library that prints to stdout" << std::endl;
  if (how == "alone") {  // closes its end and lives on
    for (int fd = 0; fd < 64; ++fd) ::close(fd);
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  if (how == "eat") {
    std::vector<std::vector<char>> all;
    while (true) all.emplace_back(std::size_t{64} << 20, 'x');
  }
  if (how == "slow") {  // in parts, so that a stop does not let it pass
    for (int i = 0; i < 50; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  static process::ScratchFolder* scratch = nullptr;
  if (how == "leave files") {
    scratch = new process::ScratchFolder;
    process::write_file(scratch->file("kernel.c"), "a user's source");
  }
  wire::BuildResultT result;
  if (how == "refuse") {
    result.body.Set(make_failure(wire::Stage::Build, {ErrorCode::BuildError, "no such tile", {}}));
    return result;
  }
  wire::BuildOutputT output;
  output.program = std::make_unique<wire::ProgramT>();
  output.program->target = how == "tell process"  ? std::to_string(::getpid())
                           : how == "leave files" ? scratch->file("kernel.c")
                                                  : how;
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::Xclbin;
  image->bytes.assign(how == "large" ? 3'000'000 : 3, 7);
  auto entry = std::make_unique<wire::EntryPointT>();
  entry->name = "run";
  image->entries.push_back(std::move(entry));
  output.program->images.push_back(std::move(image));
  output.program->launches.push_back(std::make_unique<wire::LaunchT>());
  output.program_hash = std::make_unique<wire::Hash>(content_hash(Bytes{1}));
  result.body.Set(std::move(output));
  return result;
}

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "no-worker") {
    std::fprintf(stderr, "I am no build worker\n");
    return 2;
  }
  if (mode == "garbage") {  // answers each request with bytes that are no message
    while (auto frame = fettle::read_frame(0, 1 << 20)) {
      if (!fettle::write_frame(1, fettle::Bytes(100, 0xee))) return 1;
    }
    return 0;
  }
  if (mode == "length") {  // a frame longer than any may be
    while (auto frame = fettle::read_frame(0, 1 << 20)) {
      if (::write(1, "\xff\xff\xff\xff", 4) != 4) return 1;
    }
    return 0;
  }
  return fettle::fleet::run_build_worker(build);
}

// Lines out of a pipe (worker_output.h).
#include "agent/server/worker_output.h"

#include <unistd.h>

namespace fettle::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kLongestLine = 512;

}  // namespace

void WorkerOutputLog::tell(const std::string& text) {
  if (text.empty()) return;
  if (told_ + text.size() > most_) {
    dropped_ += text.size();
    return;
  }
  told_ += text.size();
  line_(text);
}

void WorkerOutputLog::read(std::uint64_t now) {
  if (now - second_began_ >= kSecond) {
    if (dropped_ > 0) line_("(" + std::to_string(dropped_) + " bytes more)");
    second_began_ = now;
    told_ = dropped_ = 0;
  }
  char piece[4096];
  for (int i = 0; i < 16; ++i) {  // a pipe's capacity
    const ssize_t n = ::read(fd_, piece, sizeof piece);
    if (n <= 0) return;
    for (ssize_t at = 0; at < n; ++at) {
      const auto c = static_cast<unsigned char>(piece[at]);
      if (c != '\n' && part_.size() < kLongestLine) {
        part_ += c < ' ' || c == 0x7f ? '?' : static_cast<char>(c);
        continue;
      }
      tell(part_);
      part_.clear();
    }
  }
}

}  // namespace fettle::agent

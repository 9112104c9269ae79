// Words about options (device_option.h).
#include "agent/device/device_option.h"

#include <cerrno>
#include <cstdlib>

namespace fettle::agent {

Error wrong_option(const std::string& option, const std::string& wants) {
  return {ErrorCode::InvalidArgument, "--" + option + " " + wants};
}

bool parse_number(const std::string& text, std::uint64_t most, std::uint64_t& out) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return false;
  errno = 0;
  out = std::strtoull(text.c_str(), nullptr, 10);
  return errno == 0 && out <= most;
}

}  // namespace fettle::agent

// Reading addresses (web_address.h).
#include "host/web/web_address.h"

#include <arpa/inet.h>

namespace fettle::web {

bool WebAddress::loopback() const {
  if (host == "localhost" || host == "::1") return true;
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

Result<WebAddress> web_address(const std::string& text) {
  WebAddress out;
  if (text.empty()) return out;
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == text.npos ? text : text.substr(colon + 1);
  if (colon != text.npos) out.host = text.substr(0, colon);
  if (out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']') {
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find_first_of(":[]") != out.host.npos) {
    out.host.clear();  // an IPv6 address without brackets: where does it end?
  }
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos ||
      std::stoi(port) > 65'535 || out.host.empty()) {
    return Error{ErrorCode::InvalidArgument, "'" + text + "' is no PORT and no ADDRESS:PORT", {}};
  }
  out.port = std::stoi(port);
  return out;
}

std::string text_of(const WebAddress& address) {
  const bool v6 = address.host.find(':') != address.host.npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace fettle::web

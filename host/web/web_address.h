// Where a page is served: HOST:PORT, PORT, or nothing at all.
#pragma once

#include <string>

#include "schemas/wire/result.h"

namespace fettle::web {

struct WebAddress {
  std::string host = "127.0.0.1";  // an IPv6 address without its brackets
  int port = 0;                    // 0: any that is free

  bool loopback() const;  // no other machine reaches it
};

// "", "8080", "127.0.0.1:8080", "[::1]:8080". InvalidArgument.
Result<WebAddress> web_address(const std::string& text);

// "127.0.0.1:8080", "[::1]:8080": as it stands in a URL.
std::string text_of(const WebAddress& address);

}  // namespace fettle::web

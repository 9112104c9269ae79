// Why nobody answers at an address: what TCP says of it.
#pragma once

#include <string>

namespace fettle::fleet {

// Dials tcp://HOST:PORT and hangs up. "" where somebody listens, or nothing could be told; else
// words for people: "connection refused, nothing listens there". Waits for the system's name
// servers, and a second for each address.
std::string why_unreachable(const std::string& url);

}  // namespace fettle::fleet

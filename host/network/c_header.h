// The text of an exported library's header.
#pragma once

#include <string>

#include "host/backend/static_library.h"
#include "schemas/network_generated.h"

namespace fettle::network {

// `alignment`: of every tensor handed over, in bytes.
std::string c_header(const wire::NetworkT& network, const backend::StaticLibrary& library,
                     std::uint32_t alignment);

}  // namespace fettle::network

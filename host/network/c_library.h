// A compiled network as a C library: an archive and its header, which need nothing of ours.
#pragma once

#include <string>
#include <vector>

#include "host/space/target.h"
#include "schemas/fill/fill.h"
#include "schemas/network_generated.h"

namespace fettle::network {

struct CLibrary {
  std::string header;                 // NAME.h, C99
  std::vector<std::uint8_t> archive;  // libNAME.a
  std::uint64_t workspace_bytes = 0;  // packed weights and values between layers
  std::uint64_t constant_bytes = 0;   // weights, read-only data of the library
};

// Unsupported: code for it cannot be a C library, which says so in one line.
Result<void> check_exportable(const space::Target& target);

// `name`: as c_name() (c_text.h) gives one. `blobs`: of the network. Unsupported: as above.
Result<CLibrary> c_library(const wire::NetworkT& network, const BlobLookup& blobs,
                           const std::string& name);

}  // namespace fettle::network

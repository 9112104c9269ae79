// A well-filled network and its file: what the tests of network files start from.
#pragma once

#include <vector>

#include "schemas/network/network_file.h"

namespace fettle {

struct NetworkSample {
  wire::NetworkT network;
  std::vector<Bytes> contents;  // of its blobs: a weight's, an image's
};
NetworkSample sample_network();

// The file's bytes; an Error ends the program.
Bytes network_file_of(const NetworkSample& sample);
// The same file with the hash of its description set right, after a change of it.
Bytes with_right_hash(Bytes file);

}  // namespace fettle

// The parts of a build's result that travel as blobs: a program's images, and what its buffers are
// filled with. They go from the builder to the broker once, however many want the program.
#pragma once

#include <map>
#include <vector>

#include "schemas/wire/content_hash.h"

namespace fettle::fleet {

using BlobMap = std::map<wire::Hash, Bytes, HashLess>;

// Makes blobs of the bytes that the program brings along, which names them by their hashes then.
BlobMap take_blobs_out(wire::ProgramT& program);

// Every content hash that the program names, each once.
std::vector<wire::Hash> blobs_of(const wire::ProgramT& program);

}  // namespace fettle::fleet

// net.fettle: a compiled network in one file. Little-endian.
//
//   0   "FETTLNET"
//   8   u32  version, 1
//   12  u32  0
//   16  u64  bytes of the description
//   24  u64  bytes of the file
//   32  32 bytes  content hash of the description
//   64  the description: a FlatBuffer, Network (schemas/network.fbs)
//   …   blobs, where the description says, each at a multiple of 64; zeros between
//
// Equal networks give equal files.
#pragma once

#include <iosfwd>
#include <span>
#include <vector>

#include "schemas/fill/fill.h"
#include "schemas/network_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle {

// Writes the file; the network's `blobs` are made here, of `contents`, in their order, equal ones
// once. InvalidArgument: what network_check says, or a blob that the program names is not among
// them. Io, DiskFull: the stream failed.
Result<void> write_network_file(wire::NetworkT network, std::span<const ByteView> contents,
                                std::ostream& out);

// The description, checked: decoded, its hash right, its program as check_program() wants it, every
// index, size and place in range. `file`: all of the file, which is not copied. Malformed,
// TooLarge, VersionMismatch; a file that ends early says by how much.
Result<wire::NetworkT> read_network_file(ByteView file);

// Whether every blob has its hash: reads all of the file. Malformed names the first that has not.
Result<void> check_blobs(const wire::NetworkT& network, ByteView file);

// The bytes of a blob within the file; empty: there is none of that hash.
BlobLookup blobs_of(const wire::NetworkT& network, ByteView file);

}  // namespace fettle

// Programs of pieces as one program: buffers joined, constants as blobs, what lives between
// launches in one arena.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "host/model/pieces/bindings.h"
#include "host/network/schedules.h"
#include "schemas/fill/fill.h"
#include "schemas/network_generated.h"

namespace fettle::network {

// A piece's program, shared by the pieces that are equal.
struct BuiltPiece {
  std::shared_ptr<const wire::ProgramT> program;
  Schedule schedule;
  std::string configuration;  // canonical JSON
  std::string target;         // canonical JSON
};

// A network and the bytes of its blobs, which its fills name.
struct LinkedNetwork {
  wire::NetworkT network;
  struct Blob {
    wire::Hash hash;
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Blob> blobs;
};

// As blobs_of() of a file; valid as long as `linked`.
BlobLookup blobs_of(const LinkedNetwork& linked);

// `built`: one per piece of `bindings`. `target`: of all pieces but an accelerator's. Unsupported:
// a constant that is not of its piece's type; Canceled: `stop` was asked for.
Result<LinkedNetwork> link(const model::Graph& graph, const model::Bindings& bindings,
                           const std::vector<BuiltPiece>& built, const space::Target& target,
                           const std::stop_token& stop = {});

}  // namespace fettle::network

// Encoding and verified decoding of everything that travels.
//
// decode_* runs the FlatBuffers verifier, checks the file identifier, then our
// own bounds (limits.h, indices in range, sizes that add up without overflow)
// and only then unpacks into plain structs. No other code reads bytes from a
// peer, a file or a pipe. Failures are ErrorCode::Malformed, TooLarge or
// VersionMismatch with the field that is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/build_generated.h"
#include "schemas/protocol_generated.h"
#include "schemas/wire/result.h"

namespace fettle {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

Bytes encode(const wire::MessageT& message);
Bytes encode(const wire::BuildMessageT& message);
Bytes encode(const wire::ProgramT& program);
Bytes encode(const wire::MeasureRequestT& request);
Bytes encode(const wire::OutcomeT& outcome);
Bytes encode(const wire::DeviceInfoT& device);
Bytes encode(const wire::BuildRequestT& request);
Bytes encode(const wire::BuildResultT& result);

// A message with the one body it carries: message_of(wire::HeartbeatT{…}).
template <typename BodyT>
wire::MessageT message_of(BodyT body) {
  wire::MessageT message;
  message.body.Set(std::move(body));
  return message;
}

Result<wire::MessageT> decode_message(ByteView bytes);
Result<wire::BuildMessageT> decode_build_message(ByteView bytes);
// As they travel inside of messages of the protocol.
Result<wire::BuildRequestT> decode_build_request(ByteView bytes);
Result<wire::BuildResultT> decode_build_result(ByteView bytes);
Result<wire::ProgramT> decode_program(ByteView bytes);
Result<wire::MeasureRequestT> decode_request(ByteView bytes);
// Of a request that verifies: its options only, checked. The program is not unpacked.
Result<wire::MeasureOptionsT> decode_options(ByteView request);
// Of a request that verifies: the blobs that its outputs are compared with.
Result<std::vector<wire::Hash>> decode_expected(ByteView request);
Result<wire::OutcomeT> decode_outcome(ByteView bytes);
Result<wire::DeviceInfoT> decode_device_info(ByteView bytes);

// Our own bounds on a program that was not decoded but made here; decode_program
// and decode_request call it too.
Result<void> check_program(const wire::ProgramT& program);
Result<void> check_options(const wire::MeasureOptionsT& options);

// A candidate's failure as the record stores it.
wire::FailureT make_failure(wire::Stage stage, Error error);

// Length-prefixed frames over a stream socket or pipe: 4 bytes little-endian
// length, then the bytes. Blocking; EINTR is retried. read_frame returns
// Unreachable at end of file.
Result<void> write_frame(int fd, ByteView bytes);
Result<Bytes> read_frame(int fd, std::size_t max_bytes);

}  // namespace fettle

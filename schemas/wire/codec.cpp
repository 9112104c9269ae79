// Encoding and verified decoding (codec.h).
#include "schemas/wire/codec.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "schemas/wire/blob_pieces.h"
#include "schemas/wire/check_measurement.h"
#include "schemas/wire/check_message.h"
#include "schemas/wire/limits.h"
#include "schemas/wire/verified.h"

namespace fettle {
namespace {

Result<void> check_build_result(const wire::BuildResultT& result) {
  const auto* output = result.body.AsBuildOutput();
  if (!output) {
    if (result.body.AsFailure()) return {};
    return Error{ErrorCode::Malformed, "build result without output or failure"};
  }
  if (auto checked = check_program(*output->program); !checked) {
    return std::move(checked).error().in("reading a build result");
  }
  if (!output->facts) return {};
  const wire::ProgramFactsT& facts = *output->facts;
  for (const double fact : {facts.operations, facts.compulsory_bytes, facts.scratch_bytes,
                            facts.error_growth, facts.integer_operations}) {
    if (std::isfinite(fact) && fact >= 0) continue;
    return Error{ErrorCode::Malformed, "a build result's fact is negative, infinite or NaN"};
  }
  if (facts.features.size() > limits::kListed) {
    return Error{ErrorCode::Malformed, "a build result has too many features"};
  }
  return {};
}

}  // namespace

Bytes encode(const wire::MessageT& message) { return pack<wire::Message>(message, "FMSG"); }
Bytes encode(const wire::BuildMessageT& message) {
  return pack<wire::BuildMessage>(message, "FBLD");
}
Bytes encode(const wire::ProgramT& program) { return pack<wire::Program>(program, "FPRG"); }
Bytes encode(const wire::MeasureRequestT& request) {
  return pack<wire::MeasureRequest>(request, nullptr);
}
Bytes encode(const wire::OutcomeT& outcome) { return pack<wire::Outcome>(outcome, nullptr); }
Bytes encode(const wire::DeviceInfoT& device) { return pack<wire::DeviceInfo>(device, nullptr); }
Bytes encode(const wire::BuildRequestT& request) {
  return pack<wire::BuildRequest>(request, nullptr);
}
Bytes encode(const wire::BuildResultT& result) { return pack<wire::BuildResult>(result, nullptr); }

Result<wire::MessageT> decode_message(ByteView bytes) {
  const Aligned aligned(bytes);
  auto table = verified<wire::Message>(aligned.view(), "FMSG", "message");
  if (!table) return std::move(table).error();
  if ((*table)->body_type() == wire::Body::NONE || (*table)->body_type() > wire::Body::MAX) {
    return Error{ErrorCode::Malformed, "message of a kind that this version does not know"};
  }
  if (auto checked = check_message(**table); !checked) return std::move(checked).error();
  auto message = unpack<wire::MessageT>(*table);
  if (const auto* piece = message.body.AsPutBlob()) {
    if (auto checked = check_piece(*piece); !checked) return std::move(checked).error();
  }
  return message;
}

Result<wire::BuildMessageT> decode_build_message(ByteView bytes) {
  const Aligned aligned(bytes);
  auto table = verified<wire::BuildMessage>(aligned.view(), "FBLD", "build message");
  if (!table) return std::move(table).error();
  auto message = unpack<wire::BuildMessageT>(*table);
  if (const auto* result = message.body.AsBuildResult()) {
    if (auto checked = check_build_result(*result); !checked) return std::move(checked).error();
  } else if (!message.body.AsBuildRequest()) {
    return Error{ErrorCode::Malformed, "build message without a body"};
  }
  return message;
}

Result<wire::BuildRequestT> decode_build_request(ByteView bytes) {
  const Aligned aligned(bytes);
  auto table = verified<wire::BuildRequest>(aligned.view(), nullptr, "build request");
  if (!table) return std::move(table).error();
  return unpack<wire::BuildRequestT>(*table);
}

Result<wire::BuildResultT> decode_build_result(ByteView bytes) {
  const Aligned aligned(bytes);
  auto table = verified<wire::BuildResult>(aligned.view(), nullptr, "build result");
  if (!table) return std::move(table).error();
  auto result = unpack<wire::BuildResultT>(*table);
  if (auto checked = check_build_result(result); !checked) return std::move(checked).error();
  return result;
}

Result<wire::ProgramT> decode_program(ByteView bytes) {
  const Aligned aligned(bytes);
  auto table = verified<wire::Program>(aligned.view(), "FPRG", "program");
  if (!table) return std::move(table).error();
  auto program = unpack<wire::ProgramT>(*table);
  if (auto checked = check_program(program); !checked) return std::move(checked).error();
  return program;
}

Result<wire::MeasureRequestT> decode_request(ByteView bytes) {
  const Aligned aligned(bytes);
  auto table = verified<wire::MeasureRequest>(aligned.view(), nullptr, "measure request");
  if (!table) return std::move(table).error();
  auto request = unpack<wire::MeasureRequestT>(*table);
  if (auto checked = check_program(*request.program); !checked) return std::move(checked).error();
  if (auto checked = check_options(*request.options); !checked) return std::move(checked).error();
  const wire::MeasureOptionsT& options = *request.options;
  if (options.read_bytes > 0) {
    const auto& buffers = request.program->buffers;
    std::uint64_t there = 0;
    for (std::size_t b = options.read_buffer; b < buffers.size(); ++b) {
      const bool read = b == options.read_buffer || buffers[b]->role == wire::BufferRole::Output;
      if (read) there += buffers[b]->bytes;
    }
    if (options.read_buffer >= buffers.size() ||
        options.read_offset > buffers[options.read_buffer]->bytes ||
        options.read_bytes > there - options.read_offset) {
      return Error{ErrorCode::Malformed, "bytes to read that are in no buffer"};
    }
  }
  for (const auto& expected : request.expected) {
    if (!expected || expected->buffer >= request.program->buffers.size() || !expected->blob) {
      return Error{ErrorCode::Malformed, "expected output names no buffer or no blob"};
    }
    if (expected->dtype > wire::ScalarType::MAX) {
      return Error{ErrorCode::Malformed, "expected output of an unknown type"};
    }
    const auto right = [](double off) { return off >= 0 && std::isfinite(off); };
    if (!right(expected->absolute) || !right(expected->relative)) {
      return Error{ErrorCode::Malformed, "tolerance of an expected output is no number from 0 on"};
    }
  }
  return request;
}

Result<wire::MeasureOptionsT> decode_options(ByteView request) {
  const Aligned aligned(request);
  auto table = verified<wire::MeasureRequest>(aligned.view(), nullptr, "measure request");
  if (!table) return std::move(table).error();
  auto options = unpack<wire::MeasureOptionsT>((*table)->options());
  if (auto checked = check_options(options); !checked) return std::move(checked).error();
  return options;
}

Result<std::vector<wire::Hash>> decode_expected(ByteView request) {
  const Aligned aligned(request);
  auto table = verified<wire::MeasureRequest>(aligned.view(), nullptr, "measure request");
  if (!table) return std::move(table).error();
  std::vector<wire::Hash> blobs;
  if (const auto* expected = (*table)->expected()) {
    for (const wire::ExpectedOutput* output : *expected) {
      if (const wire::Hash* blob = output->blob()) blobs.push_back(*blob);
    }
  }
  return blobs;
}

Result<wire::DeviceInfoT> decode_device_info(ByteView bytes) {
  const Aligned aligned(bytes);
  auto table = verified<wire::DeviceInfo>(aligned.view(), nullptr, "device");
  if (!table) return std::move(table).error();
  auto device = unpack<wire::DeviceInfoT>(*table);
  if (device.kind > wire::DeviceKind::MAX || device.clock > wire::ClockDomain::MAX ||
      device.sandbox > wire::Sandbox::MAX) {
    return Error{ErrorCode::Malformed,
                 "device of a kind, clock or sandbox level that this version "
                 "does not know"};
  }
  if (!(device.clock_hz >= 0) || !(device.clock_hz <= limits::kClockHz)) {
    return Error{ErrorCode::Malformed, "device with a clock rate out of range"};
  }
  return device;
}

Result<wire::OutcomeT> decode_outcome(ByteView bytes) {
  const Aligned aligned(bytes);
  auto table = verified<wire::Outcome>(aligned.view(), nullptr, "outcome");
  if (!table) return std::move(table).error();
  auto outcome = unpack<wire::OutcomeT>(*table);
  if (const auto* measured = outcome.body.AsMeasurement()) {
    if (measured->samples.size() > limits::kSamples || measured->samples.empty()) {
      return Error{ErrorCode::Malformed,
                   "measurement with " + std::to_string(measured->samples.size()) + " samples"};
    }
    if (auto checked = check_measurement(*measured); !checked) return std::move(checked).error();
    if (measured->read.size() > limits::kPieceBytes) {
      return Error{ErrorCode::Malformed, "measurement with too many bytes of a buffer"};
    }
    if (measured->clock > wire::ClockDomain::MAX) {
      return Error{ErrorCode::Malformed, "measurement by clock " +
                                             std::to_string(unsigned(measured->clock)) +
                                             ", which this version does not know"};
    }
  } else if (const auto* failure = outcome.body.AsFailure()) {
    if (failure->stage > wire::Stage::MAX || failure->error->code > wire::ErrorCode::MAX) {
      return Error{ErrorCode::Malformed,
                   "failure of stage " + std::to_string(unsigned(failure->stage)) + " with code " +
                       std::to_string(unsigned(failure->error->code)) +
                       ", which this version does not know: " + failure->error->message};
    }
  } else {
    return Error{ErrorCode::Malformed, "outcome without measurement or failure"};
  }
  return outcome;
}

}  // namespace fettle

// Limits that every decoder enforces before anyone reads a buffer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::limits {

// One protocol version for all messages: raised when old peers would misread.
inline constexpr std::uint32_t kProtocolVersion = 2;

inline constexpr std::size_t kMessageBytes = std::size_t{256} << 20;    // one buffer, on any way
inline constexpr std::size_t kSocketBytes = std::size_t{2} << 20;       // one ZeroMQ message
inline constexpr std::size_t kRequestBytes = kSocketBytes - (1 << 16);  // in one of those
// Of one outcome; the rest is room for what a broker adds to it.
inline constexpr std::size_t kOutcomeBytes = kRequestBytes - (1 << 16);
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // of a blob
inline constexpr std::uint64_t kBlobBytes = std::uint64_t{4} << 30;
// Of what peers tell of themselves, and of what they may list in one message.
inline constexpr std::size_t kDevices = 64;                         // of one agent
inline constexpr std::uint32_t kQueueDepth = 64;                    // of one device
inline constexpr std::size_t kLeases = kDevices * kQueueDepth;      // that one agent can hold
inline constexpr std::size_t kRequestBlobs = 1024;                  // that one request names
inline constexpr std::size_t kKeyBytes = 128;                       // ids of boards, device keys
inline constexpr std::size_t kTextBytes = 1024;                     // one word or name
inline constexpr std::size_t kNoteBytes = 200;                      // what a reservation is for
inline constexpr std::size_t kListed = 4096;                        // words in one list
inline constexpr std::size_t kDeviceBytes = std::size_t{64} << 10;  // all texts of one device
inline constexpr std::size_t kHelloBytes = std::size_t{512}
                                           << 10;  // all that an agent says of itself
inline constexpr std::size_t kErrorBytes = std::size_t{16} << 10;  // an error's text
inline constexpr int kPriority = 100;                              // of a session: -100 to 100
inline constexpr std::uint32_t kTableDepth = 64;                   // nesting, FlatBuffers verifier
inline constexpr std::uint32_t kTables = 1'000'000;                // tables in one message
inline constexpr std::size_t kImageBytes = std::size_t{64} << 20;
inline constexpr std::uint64_t kBufferBytes = std::uint64_t{4} << 30;
inline constexpr std::size_t kBuffers = 65'536;
inline constexpr std::size_t kLaunches = 65'536;
inline constexpr std::size_t kArgs = 256;
inline constexpr std::uint32_t kParallelExtent = 1u << 30;
inline constexpr std::uint32_t kGridExtent = 0x7fffffff;  // of one axis, as CUDA's longest
inline constexpr std::uint32_t kBlockThreads = 4096;      // a device may have fewer
inline constexpr std::uint32_t kSharedBytes = 1u << 20;
inline constexpr std::size_t kRelocations = 1'000'000;
inline constexpr std::size_t kVtaInstructionBytes = 16;
inline constexpr std::uint32_t kAlignment = 1u << 21;
inline constexpr std::uint32_t kSamples = 100'000;
inline constexpr std::uint32_t kNumber = 100'000'000;
inline constexpr double kClockHz = 1e12;
inline constexpr std::uint32_t kTimeoutMs = 3'600'000;

}  // namespace fettle::limits

// Files of blobs (state_blobs.h).
#include "host/fleet/state_blobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "schemas/wire/blob_pieces.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

Error failed(const std::string& doing, const std::filesystem::path& path, int number) {
  return {number == ENOSPC || number == EDQUOT ? ErrorCode::DiskFull : ErrorCode::Io,
          doing + " " + path.string() + ": " + std::strerror(number),
          {}};
}

bool write_all(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Result<StateBlobs> StateBlobs::open(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed("making the folder", folder, errno);
  }
  return StateBlobs(folder);
}

// Not synced: a power cut may leave it short, which its hash tells.
Result<void> StateBlobs::keep(const wire::Hash& hash, const StoredBlob& blob) const {
  const auto path = folder_ / to_hex(hash), beside = folder_ / (to_hex(hash) + ".new");
  const int fd =
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("writing", beside, errno);
  bool written = true;
  for (const SharedBytes& message : blob.messages) {
    const auto piece = decode_message(*message);
    written = written && piece && piece->body.AsPutBlob() &&
              write_all(fd, piece->body.AsPutBlob()->bytes);
  }
  const int number = errno;
  if (::close(fd) != 0) written = false;
  if (written && ::rename(beside.c_str(), path.c_str()) == 0) return {};
  ::unlink(beside.c_str());
  return failed("writing", path, number);
}

void StateBlobs::drop(const wire::Hash& hash) const { ::unlink((folder_ / to_hex(hash)).c_str()); }

Result<StoredBlob> StateBlobs::read(const wire::Hash& hash) const {
  const auto path = folder_ / to_hex(hash);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    if (errno == ENOENT) return Error{ErrorCode::NotFound, "no file " + path.string(), {}};
    return failed("reading", path, errno);
  }
  struct stat facts{};
  Bytes bytes;
  if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
      static_cast<std::uint64_t>(facts.st_size) <= limits::kBlobBytes) {
    bytes.resize(static_cast<std::size_t>(facts.st_size));
  }
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  ::close(fd);
  const wire::Hash actual = content_hash(bytes);
  if (done < bytes.size() || bytes.empty() || std::memcmp(&actual, &hash, sizeof hash) != 0) {
    return Error{ErrorCode::Malformed, path.string() + " does not have the bytes of its name", {}};
  }
  StoredBlob blob;
  for_each_piece(hash, bytes, [&](wire::PutBlobT piece) {
    blob.messages.push_back(pack_message(std::move(piece)));
    blob.bytes += blob.messages.back()->size();
  });
  return blob;
}

void StateBlobs::keep_only(const std::set<std::string>& names) const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    if (names.count(entry.path().filename().string()) == 0)
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace fettle::fleet

// Key files: made, stored with mode 0600, read back with their mode checked.
#include "host/fleet/keys.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "host/fleet/peer.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kZ85 = 40;

Error io_error(const std::string& doing, int error) {
  return {error == ENOSPC || error == EDQUOT ? ErrorCode::DiskFull : ErrorCode::Io,
          doing + ": " + std::strerror(error)};
}

bool is_z85_key(const std::string& text) {
  std::uint8_t bytes[32];
  return text.size() == kZ85 && zmq_z85_decode(bytes, text.c_str()) != nullptr;
}

// "": of a name without one.
std::filesystem::path or_here(const std::filesystem::path& folder) {
  return folder.empty() ? "." : folder;
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error("opening " + folder.string(), errno);
  const int failed = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  if (failed != 0 && failed != EINVAL) return io_error("syncing " + folder.string(), failed);
  return {};
}

}  // namespace

std::uint64_t random_id() {
  std::uint64_t id = 0;
  while (id == 0) randombytes_buf(&id, sizeof id);
  return id;
}

Result<KeyPair> make_key_pair() {
  char public_key[kZ85 + 1], secret_key[kZ85 + 1];
  // Public keys stand on command lines: one that starts like an option is drawn again.
  do {
    if (zmq_curve_keypair(public_key, secret_key) != 0) {
      return Error{ErrorCode::Unsupported, "this libzmq was built without CURVE"};
    }
  } while (public_key[0] == '-');
  KeyPair pair{public_key, secret_key};
  sodium_memzero(secret_key, sizeof secret_key);
  return pair;
}

Result<void> check_public_key(const std::string& text) {
  if (is_z85_key(text)) return {};
  return Error{ErrorCode::InvalidArgument,
               "a public key is 40 characters of Z85, as `fettle keys list` prints it; got " +
                   std::to_string(text.size()) + " characters"};
}

std::string allow_command(const std::string& public_key) {
  return "fettle keys allow NAME '" + public_key + "' --role client";
}

Result<std::string> public_key_of(const std::string& secret_key) {
  char public_key[kZ85 + 1];
  if (!is_z85_key(secret_key) || zmq_curve_public(public_key, secret_key.c_str()) != 0) {
    return Error{ErrorCode::InvalidArgument, "a secret key is 40 characters of Z85"};
  }
  return std::string(public_key);
}

Result<std::filesystem::path> fettle_home() {
  if (const char* home = std::getenv("FETTLE_HOME"); home && *home)
    return std::filesystem::path(home);
  if (const char* home = std::getenv("HOME"); home && *home) {
    return std::filesystem::path(home) / ".config" / "fettle";
  }
  return Error{ErrorCode::NotFound,
               "neither FETTLE_HOME nor HOME is set: set FETTLE_HOME to the "
               "folder that holds fettle's keys"};
}

Result<void> check_key_name(const std::string& name) {
  bool good = !name.empty() && name.size() <= 64 && name[0] != '.';
  for (unsigned char c : name) good = good && (std::isalnum(c) || c == '-' || c == '_' || c == '.');
  if (good) return {};
  return Error{ErrorCode::InvalidArgument,
               "'" + name + "' is no name for a key: use up to 64 letters, digits, '-', '_', '.'"};
}

Result<void> write_file_atomically(const std::filesystem::path& path, const std::string& text,
                                   unsigned mode) {
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
  if (fd < 0) return io_error("writing in " + or_here(path.parent_path()).string(), errno);
  int failed = 0;
  for (std::size_t done = 0; done < text.size() && failed == 0;) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n >= 0)
      done += static_cast<std::size_t>(n);
    else if (errno != EINTR)
      failed = errno;
  }
  if (failed == 0 && ::fchmod(fd, mode) != 0) failed = errno;
  if (failed == 0 && ::fsync(fd) != 0) failed = errno;
  if (::close(fd) != 0 && failed == 0) failed = errno;
  if (failed == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (failed != 0) {
    ::unlink(temporary.c_str());
    return io_error("writing " + path.string(), failed);
  }
  return sync_folder(or_here(path.parent_path()));
}

Result<void> write_key_file(const std::filesystem::path& path, const KeyPair& pair) {
  return write_file_atomically(
      path, "public " + pair.public_key + "\nsecret " + pair.secret_key + "\n", 0600);
}

FolderLock::FolderLock(const std::filesystem::path& folder)
    : fd_(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<KeyPair> KeyFolder::create(const std::string& name) const {
  if (auto good = check_key_name(name); !good) return std::move(good).error();
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (failed) return io_error("making the folder " + folder_.string(), failed.value());
  ::chmod(folder_.c_str(), 0700);
  const FolderLock lock(folder_);
  const auto path = key_file(name);
  if (std::filesystem::exists(path, failed)) {
    const auto there = load(name);
    const std::string state = there ? "; `" + allow_command(there->public_key) +
                                          "` lets it in, a board's with --role agent"
                                    : ", but cannot be used: " + there.error().text();
    return Error{ErrorCode::InvalidArgument,
                 "the key '" + name + "' exists already: " + path.string() + state +
                     " (for a new pair choose another name, or remove that file)"};
  }
  auto pair = make_key_pair();
  if (!pair) return pair;
  if (auto stored = write_key_file(path, *pair); !stored) return std::move(stored).error();
  return pair;
}

Result<KeyPair> KeyFolder::load(const std::string& name) const {
  if (auto good = check_key_name(name); !good) return std::move(good).error();
  const auto path = key_file(name);
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return io_error("reading " + path.string(), errno);
    return Error{ErrorCode::NotFound, "no key '" + name + "' in " + folder_.string() +
                                          ": make it with `fettle keys new " + name + "`"};
  }
  if (S_ISDIR(status.st_mode)) return io_error("reading " + path.string(), EISDIR);
  if ((status.st_mode & 077) != 0) {
    return Error{ErrorCode::Unauthorized,
                 path.string() + " holds a secret that other users may read: chmod 600 it"};
  }
  auto text = read_whole(path.string(), kMostTextBytes);
  if (!text) return std::move(text).error();
  std::istringstream file(*text);
  KeyPair pair;
  for (std::string word, value; file >> word >> value;) {
    if (word == "public") pair.public_key = value;
    if (word == "secret") pair.secret_key = value;
  }
  auto derived = public_key_of(pair.secret_key);
  if (!derived || *derived != pair.public_key) {
    return Error{ErrorCode::Malformed, path.string() +
                                           " holds no valid key pair: move it away and "
                                           "make a new one with `fettle keys new`"};
  }
  return pair;
}

Result<KeyPair> KeyFolder::load_or_create(const std::string& name) const {
  auto pair = load(name);
  if (pair || pair.error().code != ErrorCode::NotFound) return pair;
  auto made = create(name);
  if (made || made.error().code != ErrorCode::InvalidArgument) return made;
  return load(name);  // another process was first
}

Result<std::vector<KeyFolder::Entry>> KeyFolder::list() const {
  std::vector<Entry> entries;
  std::error_code failed;
  if (!std::filesystem::exists(folder_, failed)) return entries;
  for (const auto& file : std::filesystem::directory_iterator(folder_, failed)) {
    if (file.path().extension() != ".key") continue;
    auto pair = load(file.path().stem().string());
    const std::string name = file.path().stem().string();
    entries.push_back(pair ? Entry{name, pair->public_key, ""}
                           : Entry{name, "", std::move(pair).error().message});
  }
  if (failed) return io_error("listing " + folder_.string(), failed.value());
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

}  // namespace fettle::fleet

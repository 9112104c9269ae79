// CURVE key pairs and the folder that holds them ($FETTLE_HOME): what
// `fettle keys` works on. Secrets are never printed, logged or put into errors.
//
//   <name>.key   a key pair, mode 0600:  "public Z85" and "secret Z85" lines
//   allowed      the broker's allow list (allow_list.h)
//   .lock        empty; locked while one of these changes
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::fleet {

struct KeyPair {
  std::string public_key;  // 40 characters of Z85
  std::string secret_key;
};

Result<KeyPair> make_key_pair();
// InvalidArgument unless `text` is 40 characters of Z85 that stand for 32 bytes.
Result<void> check_public_key(const std::string& text);
// What lets a client of that key in, for messages; NAME is the reader's to choose.
std::string allow_command(const std::string& public_key);
// The public half of a secret key.
Result<std::string> public_key_of(const std::string& secret_key);

// $FETTLE_HOME, or ~/.config/fettle.
Result<std::filesystem::path> fettle_home();

// Held while files of that folder are read, changed and written; others wait. Where the file
// system knows no locks there is none.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

// A key file of that pair, mode 0600.
Result<void> write_key_file(const std::filesystem::path& path, const KeyPair& pair);

class KeyFolder {
 public:
  explicit KeyFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Entry {
    std::string name, public_key;
    std::string fault;  // "", or why its file cannot be used: there is no public key then
  };

  // Makes and stores a new pair; InvalidArgument when `name` is taken.
  Result<KeyPair> create(const std::string& name) const;
  // NotFound names the command that makes one; Unauthorized: others can read the file.
  Result<KeyPair> load(const std::string& name) const;
  Result<KeyPair> load_or_create(const std::string& name) const;
  Result<std::vector<Entry>> list() const;

  std::filesystem::path key_file(const std::string& name) const {
    return folder_ / (name + ".key");
  }
  std::filesystem::path allow_file() const { return folder_ / "allowed"; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

// Letters, digits, '-', '_' and '.', not starting with '.': fit for a file and a log line.
Result<void> check_key_name(const std::string& name);

// Replaces `path` by a file of that mode and text: temporary file, fsync,
// rename, fsync of the folder. The old file stays whole when this fails.
Result<void> write_file_atomically(const std::filesystem::path& path, const std::string& text,
                                   unsigned mode);

}  // namespace fettle::fleet

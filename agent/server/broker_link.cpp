// ZeroMQ socket and keys (broker_link.h).
#include "agent/server/broker_link.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "schemas/wire/limits.h"

#if defined(__GLIBC__)
// In a static program the resolver must not look for NSS modules on the board.
extern "C" int __nss_configure_lookup(const char* database, const char* services);
#endif

namespace fettle::agent {
namespace {

constexpr std::size_t kZ85 = 40;

bool is_key(const std::string& text) {
  std::uint8_t bytes[32];
  return text.size() == kZ85 && zmq_z85_decode(bytes, text.c_str()) != nullptr;
}

std::string read_all(int fd) {
  std::string text;
  char piece[512];
  ssize_t n;
  while (text.size() < 4096 &&
         ((n = ::read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))) {
    if (n > 0) text.append(piece, static_cast<std::size_t>(n));
  }
  return text;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Error zmq_failure(const std::string& doing) {
  return {ErrorCode::Io, doing + ": " + zmq_strerror(zmq_errno())};
}

}  // namespace

Result<KeyPair> parse_key_pair(const std::string& text) {
  KeyPair pair;
  std::istringstream words(text);
  for (std::string word, value; words >> word;) {
    if (word == "public" && words >> value)
      pair.public_key = value;
    else if (word == "secret" && words >> value)
      pair.secret_key = value;
    else if (is_key(word))
      pair.secret_key = word;
  }
  char derived[kZ85 + 1];
  if (!is_key(pair.secret_key) || zmq_curve_public(derived, pair.secret_key.c_str()) != 0 ||
      (!pair.public_key.empty() && pair.public_key != derived)) {
    return Error{ErrorCode::Malformed,
                 "holds no valid key pair: make one with `fettle keys new NAME`"};
  }
  pair.public_key = derived;
  return pair;
}

Result<KeyPair> load_key_pair(const AgentOptions& options) {
  if (options.key_fd >= 0) {
    const std::string text = read_all(options.key_fd);
    ::close(options.key_fd);
    auto pair = parse_key_pair(text);
    if (!pair) return Error{pair.error().code, "--key-fd " + pair.error().message};
    return pair;
  }
  const std::string& path = options.key_file;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Error{ErrorCode::NotFound, "cannot read the key file " + path + ": " +
                                          std::strerror(errno) +
                                          " (`fettle keys new NAME` makes one)"};
  }
  struct stat status{};
  fstat(fd, &status);
  if (S_ISDIR(status.st_mode)) {
    ::close(fd);
    return Error{ErrorCode::Malformed, "the key file " + path + " is a folder"};
  }
  const std::string text = read_all(fd);
  ::close(fd);
  if (status.st_mode & 077) {
    return Error{ErrorCode::Unauthorized,
                 path + " holds a secret that other users may read: chmod 600 it"};
  }
  auto pair = parse_key_pair(text);
  if (!pair) return Error{pair.error().code, path + " " + pair.error().message};
  return pair;
}

Result<std::string> make_key_file(const std::string& path) {
  AgentOptions options;
  options.key_file = path;
  if (::access(path.c_str(), F_OK) == 0) {
    auto pair = load_key_pair(options);
    if (!pair) return std::move(pair).error();
    return std::move(pair->public_key);
  }
  char public_key[kZ85 + 1], secret_key[kZ85 + 1];
  // It will stand on a command line of the host: one that starts like an option is drawn again.
  do {
    if (zmq_curve_keypair(public_key, secret_key) != 0) return zmq_failure("making a key pair");
  } while (public_key[0] == '-');
  const std::string text = std::string("public ") + public_key + "\nsecret " + secret_key + "\n",
                    beside = path + ".new";
  ::unlink(beside.c_str());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  // Root makes it for the one whose folder it is: the service's own user.
  if (struct stat folder{};
      fd >= 0 && ::geteuid() == 0 && ::stat(folder_of(path).c_str(), &folder) == 0) {
    (void)!::fchown(fd, folder.st_uid, folder.st_gid);
  }
  bool written = fd >= 0 &&
                 ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                 ::fsync(fd) == 0;
  if (fd >= 0) written = ::close(fd) == 0 && written;
  // Whole or not at all, whenever the power goes.
  if (!written || ::rename(beside.c_str(), path.c_str()) != 0) {
    Error error{ErrorCode::Io, "cannot write the key file " + path + ": " + std::strerror(errno)};
    if (fd >= 0) ::unlink(beside.c_str());
    return error;
  }
  return std::string(public_key);
}

Result<std::string> load_broker_key(const AgentOptions& options) {
  if (is_key(options.broker_key)) return options.broker_key;
  const int fd = ::open(options.broker_key.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    std::istringstream words(read_all(fd));
    ::close(fd);
    for (std::string word; words >> word;) {
      if (word == "secret")
        words >> word;  // a key-pair file: its secret is not ours to use
      else if (is_key(word))
        return word;
    }
  }
  return Error{ErrorCode::InvalidArgument,
               "--broker-key takes 40 characters of Z85 or a file that holds them, not '" +
                   options.broker_key + "'"};
}

Result<BrokerLink> BrokerLink::open(const std::string& url, const std::string& broker_key,
                                    const KeyPair& own) {
#if defined(__GLIBC__)
  __nss_configure_lookup("hosts", "files dns");
#endif
  BrokerLink out;
  out.context_ = zmq_ctx_new();
  if (!out.context_) return zmq_failure("starting ZeroMQ");
  zmq_ctx_set(out.context_, ZMQ_MAX_SOCKETS, 8);
  out.socket_ = zmq_socket(out.context_, ZMQ_DEALER);
  if (!out.socket_) return zmq_failure("opening a socket");
  auto integer = [&](int option, int value) {
    zmq_setsockopt(out.socket_, option, &value, sizeof value);
  };
  const std::int64_t most = static_cast<std::int64_t>(limits::kSocketBytes);
  zmq_setsockopt(out.socket_, ZMQ_MAXMSGSIZE, &most, sizeof most);
  integer(ZMQ_LINGER, 0);
  // A broker that does not know the key yet says nothing: dial again, it may by then.
  integer(ZMQ_HANDSHAKE_IVL, 5000);
  integer(ZMQ_RECONNECT_IVL, 50);
  integer(ZMQ_RECONNECT_IVL_MAX, 2000);
  // A link that died without a word (power, cable) is found and dialled again: no byte of the
  // pings is acknowledged. ZMTP's own timeout would count whole messages, and a large blob
  // takes longer on a slow link.
  integer(ZMQ_HEARTBEAT_IVL, 5000);
  integer(ZMQ_HEARTBEAT_TIMEOUT, 0);
  integer(ZMQ_TCP_MAXRT, 15000);
  integer(ZMQ_SNDHWM, 1000);
  if (zmq_setsockopt(out.socket_, ZMQ_CURVE_SERVERKEY, broker_key.c_str(), kZ85) != 0 ||
      zmq_setsockopt(out.socket_, ZMQ_CURVE_PUBLICKEY, own.public_key.c_str(), kZ85) != 0 ||
      zmq_setsockopt(out.socket_, ZMQ_CURVE_SECRETKEY, own.secret_key.c_str(), kZ85) != 0) {
    return zmq_failure("setting the keys");
  }
  if (zmq_connect(out.socket_, url.c_str()) != 0) {
    return Error{ErrorCode::InvalidArgument, "cannot dial " + url + ": " +
                                                 zmq_strerror(zmq_errno()) +
                                                 " (--broker takes tcp://HOST:PORT)"};
  }
  return out;
}

BrokerLink::BrokerLink(BrokerLink&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)),
      socket_(std::exchange(other.socket_, nullptr)) {}

BrokerLink::~BrokerLink() { close(0); }

void BrokerLink::close(int linger_ms) {
  if (socket_) {
    zmq_setsockopt(socket_, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_close(socket_);
  }
  if (context_) zmq_ctx_term(context_);
  socket_ = context_ = nullptr;
}

bool BrokerLink::send(const wire::MessageT& message) {
  const Bytes bytes = encode(message);
  return zmq_send(socket_, bytes.data(), bytes.size(), ZMQ_DONTWAIT) >= 0;
}

std::optional<Result<wire::MessageT>> BrokerLink::receive() {
  zmq_msg_t message;
  zmq_msg_init(&message);
  int got;
  do got = zmq_msg_recv(&message, socket_, ZMQ_DONTWAIT);
  while (got < 0 && zmq_errno() == EINTR);
  if (got < 0) {
    zmq_msg_close(&message);
    return std::nullopt;
  }
  auto decoded = decode_message(
      {static_cast<const std::uint8_t*>(zmq_msg_data(&message)), zmq_msg_size(&message)});
  zmq_msg_close(&message);
  return decoded;
}

}  // namespace fettle::agent

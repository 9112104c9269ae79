// Browser (browser.h): messages are JSON, each ended by a NUL; Chromium reads descriptor 3 and
// writes descriptor 4.
#include "tests/support/browser.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fettle::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kAnswer{60};

}  // namespace

std::string Browser::program() {
  for (const char* path : {"/usr/bin/chromium-headless-shell", "/usr/bin/chromium",
                           "/usr/lib/chromium/chromium-headless-shell"}) {
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

Browser::Browser(const std::string& folder, const BrowserOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a browser that died is an answer that does not come
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
  const std::string path = program(), profile = "--user-data-dir=" + folder + "/profile";
  const std::vector<const char*> words = {path.c_str(),
                                          "--headless",
                                          "--no-sandbox",  // tests run as root in containers
                                          "--disable-gpu",
                                          "--disable-dev-shm-usage",
                                          "--hide-scrollbars",
                                          "--remote-debugging-pipe",
                                          profile.c_str(),
                                          "about:blank",
                                          nullptr};
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    setenv("HOME", folder.c_str(), 1);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd : {0, 1, 2}) dup2(null, fd);
    // Neither may be overwritten by the other before it is in its place.
    const int read_end = fcntl(in[0], F_DUPFD, 10), write_end = fcntl(out[1], F_DUPFD, 10);
    dup2(read_end, 3);
    dup2(write_end, 4);
    close(read_end);
    close(write_end);
    execv(words[0], const_cast<char* const*>(words.data()));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  reader_ = std::thread([this] { read_all(); });
  const auto target = call("Target.createTarget", {{"url", "about:blank"}}, false);
  const auto attached =
      call("Target.attachToTarget", {{"targetId", target.value("targetId", "")}, {"flatten", true}},
           false);
  page_ = attached.value("sessionId", "");
  for (const char* domain : {"Page.enable", "Runtime.enable", "Network.enable", "Log.enable"}) {
    call(domain, nlohmann::json::object());
  }
  resize(options);
}

Browser::~Browser() {
  close(to_);  // it ends when nobody drives it
  const auto late = Clock::now() + std::chrono::seconds(5);
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() > late) kill(-pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(-pid_, SIGKILL);  // what of its group is left
  reader_.join();
  close(from_);
}

void Browser::resize(const BrowserOptions& options) {
  call("Emulation.setDeviceMetricsOverride", {{"width", options.width},
                                              {"height", options.height},
                                              {"deviceScaleFactor", 1},
                                              {"mobile", false}});
  call("Emulation.setEmulatedMedia",
       {{"features",
         {{{"name", "prefers-color-scheme"}, {"value", options.dark ? "dark" : "light"}}}}});
}

void Browser::open(const std::string& url) { call("Page.navigate", {{"url", url}}); }

nlohmann::json Browser::evaluate(const std::string& expression) {
  const auto answer =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}});
  if (!answer.contains("result")) return nullptr;
  return answer["result"].value("value", nlohmann::json());
}

bool Browser::wait_for(const std::string& expression, std::chrono::seconds limit) {
  const auto late = Clock::now() + limit;
  while (Clock::now() < late) {
    if (evaluate("!!(" + expression + ")") == true) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

bool Browser::picture(const std::string& path) {
  const nlohmann::json clip = {{"x", 0},
                               {"y", 0},
                               {"width", evaluate("document.documentElement.clientWidth")},
                               {"height", evaluate("document.documentElement.scrollHeight")},
                               {"scale", 1}};
  const auto answer = call("Page.captureScreenshot",
                           {{"format", "png"}, {"captureBeyondViewport", true}, {"clip", clip}});
  const std::string text = answer.value("data", "");
  std::vector<unsigned char> bytes(text.size());
  std::size_t count = 0;
  if (text.empty() ||
      sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &count,
                        nullptr, sodium_base64_VARIANT_ORIGINAL) != 0) {
    return false;
  }
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(count));
  return file.good();
}

std::vector<std::string> Browser::requests() const {
  const std::lock_guard hold(mutex_);
  return requests_;
}

std::vector<std::string> Browser::complaints() const {
  const std::lock_guard hold(mutex_);
  return complaints_;
}

nlohmann::json Browser::call(const std::string& method, nlohmann::json params, bool of_page) {
  nlohmann::json message = {{"method", method}, {"params", std::move(params)}};
  if (of_page) message["sessionId"] = page_;
  std::unique_lock hold(mutex_);
  const int number = ++asked_;
  message["id"] = number;
  const std::string text = message.dump();
  hold.unlock();
  for (std::size_t at = 0; at <= text.size();) {  // with the NUL behind it
    const ssize_t n = write(to_, text.c_str() + at, text.size() + 1 - at);
    if (n <= 0) return nlohmann::json::object();
    at += static_cast<std::size_t>(n);
  }
  hold.lock();
  answered_.wait_for(hold, kAnswer, [&] { return gone_ || answer_.value("id", 0) == number; });
  if (answer_.value("id", 0) != number) return nlohmann::json::object();
  return answer_.value("result", nlohmann::json::object());
}

void Browser::read_all() {
  std::string waiting;
  std::vector<char> bytes(1 << 16);
  for (ssize_t n; (n = read(from_, bytes.data(), bytes.size())) > 0;) {
    waiting.append(bytes.data(), static_cast<std::size_t>(n));
    for (std::size_t end; (end = waiting.find('\0')) != waiting.npos; waiting.erase(0, end + 1)) {
      take(nlohmann::json::parse(
          waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false));
    }
  }
  const std::lock_guard hold(mutex_);
  gone_ = true;
  answered_.notify_all();
}

void Browser::take(const nlohmann::json& message) {
  if (!message.is_object()) return;
  const std::lock_guard hold(mutex_);
  if (message.contains("id")) {
    answer_ = message;
    answered_.notify_all();
    return;
  }
  const std::string method = message.value("method", "");
  const auto params = message.value("params", nlohmann::json::object());
  if (method == "Network.requestWillBeSent") {
    requests_.push_back(params["request"].value("url", ""));
  } else if (method == "Runtime.exceptionThrown") {
    complaints_.push_back(params["exceptionDetails"].dump());
  } else if (method == "Log.entryAdded") {
    complaints_.push_back(params["entry"].value("text", ""));
  }
}

}  // namespace fettle::testing

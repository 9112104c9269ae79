// A headless Chromium that a test drives by the DevTools protocol, over two pipes: it opens a page,
// evaluates expressions in it, takes pictures, and tells which requests the page made.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace fettle::testing {

struct BrowserOptions {
  int width = 1280, height = 900;
  bool dark = false;
};

class Browser {
 public:
  // Debian's; "" when there is none.
  static std::string program();

  // `folder` is for its profile.
  Browser(const std::string& folder, const BrowserOptions& options = {});
  ~Browser();  // ends the browser, and its own processes only
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void open(const std::string& url);
  // The value of a JavaScript expression; null when it threw or nothing answers.
  nlohmann::json evaluate(const std::string& expression);
  // Until the expression is true; false after `limit`.
  bool wait_for(const std::string& expression,
                std::chrono::seconds limit = std::chrono::seconds(20));
  // The whole page as a PNG file.
  bool picture(const std::string& path);
  void resize(const BrowserOptions& options);

  std::vector<std::string> requests() const;  // addresses of all that the page asked for
  std::vector<std::string> complaints()
      const;  // exceptions, violations of its policy, failed loads

 private:
  nlohmann::json call(const std::string& method, nlohmann::json params, bool of_page = true);
  void read_all();
  void take(const nlohmann::json& message);

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string page_;  // the session of the page's target
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  int asked_ = 0;
  nlohmann::json answer_ = nlohmann::json::object();  // the latest
  bool gone_ = false;
  std::vector<std::string> requests_, complaints_;
  std::thread reader_;
};

}  // namespace fettle::testing

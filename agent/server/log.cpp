// Logging (log.h).
#include "agent/server/log.h"

#include <cstdarg>
#include <cstdio>
#include <ctime>

namespace fettle::agent {
namespace {
LogLevel most_level = LogLevel::Info;
}  // namespace

void set_log_level(LogLevel most) { most_level = most; }

void log(LogLevel level, const char* format, ...) {
  if (level > most_level) return;
  static const char* const names[] = {"error", "warning", "info", "debug"};
  char line[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts;
  gmtime_r(&now.tv_sec, &parts);
  std::fprintf(stderr, "%02d:%02d:%02d.%03ld fettle-agent %s: %s\n", parts.tm_hour, parts.tm_min,
               parts.tm_sec, now.tv_nsec / 1'000'000, names[static_cast<int>(level)], line);
}

}  // namespace fettle::agent

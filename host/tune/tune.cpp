// tune() (tune.h): the whole loop.
#include "host/tune/tune.h"

#include <poll.h>

#include <utility>

#include "host/tune/finals.h"
#include "host/tune/trials.h"

namespace fettle::tune {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kAllFailTold = 8;  // so many failures and no success: tell at once
constexpr std::uint32_t kMostLost = 8;     // in a row: the boards do not come back
constexpr milliseconds kTick{200};
constexpr milliseconds kSearcherTick{5};  // searchers cannot tell when they are ready

// Time as the session sees it, and the wait for the next event.
class Watch {
 public:
  Watch(TuneParts& parts, Trials& trials) : parts_(parts), trials_(trials) {}

  // Sleeps until a part has something to say, a tick is due or `longest` is over.
  void wait(milliseconds longest = kTick) {
    const auto from = Clock::now();
    pollfd fds[] = {{parts_.builder.ready_fd(), POLLIN, 0},
                    {parts_.runner.ready_fd(), POLLIN, 0},
                    {parts_.expected.ready_fd(), POLLIN, 0},
                    {stopping_ ? -1 : parts_.stop.fd(), POLLIN, 0}};
    const bool blind = fds[0].fd < 0 || fds[1].fd < 0;
    const bool starved = !finals_ && trials_.starved() && trials_.progress().busy_share.has_value();
    if (trials_.awaits_searcher()) longest = std::min(longest, kSearcherTick);
    ::poll(fds, std::size(fds), static_cast<int>(blind ? 2 : longest.count()));
    if (fds[2].revents) parts_.expected.clear_ready();
    if (starved) starved_ += Clock::now() - from;
    tick();
  }

  void tick(bool now = false) {
    Progress& progress = trials_.progress();
    progress.elapsed = Clock::now() - start_;
    if (finals_) progress.finals_elapsed = Clock::now() - *finals_;
    progress.supply_limited_share = starved_ / (progress.elapsed - progress.finals_elapsed);
    const double done = progress.trials - progress.resumed;
    if (done > 0) {
      const double wanted =
          progress.trials_wanted - std::min(progress.trials, progress.trials_wanted);
      progress.left = progress.elapsed * (wanted / done);
    }
    if (!now && Clock::now() - ticked_ < kTick) return;
    ticked_ = Clock::now();
    progress.remote_builders = parts_.builder.remote_workers();
    parts_.listener.tick(progress);
  }
  void stopping() { stopping_ = true; }
  void finals() { finals_ = Clock::now(); }

 private:
  TuneParts& parts_;
  Trials& trials_;
  Clock::time_point start_ = Clock::now(), ticked_ = start_;
  std::chrono::duration<double> starved_{0};
  std::optional<Clock::time_point> finals_;  // since when
  bool stopping_ = false;
};

Result<void> take_finished(TuneParts& parts, Trials& trials) {
  auto measured = parts.runner.poll(milliseconds(0));
  if (!measured) return measured.error();
  for (Measured& one : *measured) {
    if (auto taken = trials.take_measured(std::move(one)); !taken) return taken;
  }
  return {};
}

Result<void> advance(TuneParts& parts, Trials& trials) {
  auto built = parts.builder.poll(milliseconds(0));
  if (!built) return built.error();
  for (Built& one : *built) {
    if (auto taken = trials.take_built(std::move(one)); !taken) return taken;
  }
  if (auto taken = take_finished(parts, trials); !taken) return taken;
  if (trials.in_doubt()) {
    if (auto settled = trials.settle_doubts(); !settled) return settled;
  }
  if (auto fed = trials.feed_boards(); !fed) return fed;
  while (const auto task = trials.wants_candidate()) trials.propose(*task);
  return {};
}

// What is on a board may still end; nothing new is started.
void wind_down(TuneParts& parts, Trials& trials, Watch& watch, milliseconds grace) {
  trials.drop_unmeasured();
  watch.stopping();
  const auto deadline = Clock::now() + grace;
  while (!trials.boards_idle() && Clock::now() < deadline) {
    if (!take_finished(parts, trials)) return;
    watch.wait(milliseconds(50));
  }
}

}  // namespace

wire::MeasureOptionsT default_measuring() {
  wire::MeasureOptionsT options;
  options.min_repeat_ms = 5;
  return options;
}

TuneSummary tune(std::vector<TuneTask>& tasks, const space::Target& target,
                 const TuneOptions& options, TuneParts parts) {
  Trials trials(tasks, target, options, parts);
  Watch watch(parts, trials);
  TuneSummary summary;
  bool told = false, alone = false, cut_off = false;
  const auto end_by = [&](Error error) {
    const bool stopped = parts.stop.requested() && error.code == ErrorCode::Canceled;
    summary.end = stopped ? SessionEnd::Interrupted : SessionEnd::Failed;
    if (!stopped) summary.error = std::move(error);
  };
  while (trials.working()) {
    if (auto advanced = advance(parts, trials); !advanced) {
      end_by(std::move(advanced).error());
      break;
    }
    if (!told && trials.tally().all_failed() && trials.tally().finished() >= kAllFailTold) {
      told = true;
      parts.listener.warn("all of the first " + std::to_string(trials.tally().finished()) +
                          " trials failed: " + trials.tally().main_cause());
    }
    if (const bool was = std::exchange(cut_off, !parts.runner.reachable()); was != cut_off) {
      parts.listener.warn(cut_off ? "the broker does not answer: trying again"
                                  : "the broker answers again");
    }
    if (!std::exchange(alone, parts.runner.boards_there() == 0) && alone) {
      const std::size_t unlike = parts.runner.boards_unlike();
      parts.listener.warn(
          "no board of '" + options.device_key + "'" +
          (unlike == 0 ? std::string() : " and of the kind that its programs are made for") +
          " is there: waiting for one" +
          (unlike == 0 ? std::string() : "; of another kind: " + std::to_string(unlike)));
    }
    if (parts.stop.requested()) {
      summary.end = SessionEnd::Interrupted;
      break;
    }
    if (trials.tally().lost_in_a_row() >= kMostLost) {
      const std::string last = "the last " + std::to_string(kMostLost);
      const std::string what =
          trials.tally().lost_to_builders()
              ? "no builder can build: " + last + " builds failed by it ("
              : "no board is left: " + last + " trials were lost with theirs, or found none (";
      end_by(Error{ErrorCode::DeviceLost,
                   what + trials.tally().last_loss() + "); --resume tries them again",
                   {}});
      break;
    }
    if (trials.working()) watch.wait();
  }
  // An interrupted session's finals are made up for where all its trials are there.
  if (summary.end == SessionEnd::Finished && options.finalists > 0 &&
      trials.progress().trials > 0) {
    watch.finals();
    const auto held = hold_finals(tasks, target, options, parts, trials.finalists(),
                                  trials.progress(), [&] { watch.tick(); });
    if (!held) end_by(held.error());
  }
  if (summary.end != SessionEnd::Finished) wind_down(parts, trials, watch, options.stop_grace);
  watch.tick(true);
  summary.progress = trials.progress();
  summary.search = trials.search_statistics();
  summary.time = trials.tally().time();
  summary.certainty = trials.tally().certainty();
  summary.all_failed = trials.tally().all_failed();
  summary.main_cause = trials.tally().main_cause();
  return summary;
}

}  // namespace fettle::tune

// Given configurations first (started_searcher.h).
#include "host/tune/started_searcher.h"

#include <deque>
#include <unordered_set>

#include "host/tune/unseen.h"

namespace fettle::tune {
namespace {

class StartedSearcher final : public Searcher {
 public:
  StartedSearcher(std::unique_ptr<Searcher> inner, std::vector<space::Configuration> first)
      : inner_(std::move(inner)), first_(first.begin(), first.end()) {}

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposals;
    while (proposals.size() < n && !first_.empty()) {
      space::Configuration next = std::move(first_.front());
      first_.pop_front();
      if (seen_.insert(next).second) proposals.push_back(std::move(next));
    }
    // The inner one does not know of those that are still being tried.
    while (proposals.size() < n) {
      auto more = inner_->propose(n - proposals.size());
      if (more.empty()) break;
      for (space::Configuration& each : more) {
        if (!seen_.contains(each)) proposals.push_back(std::move(each));
      }
    }
    return proposals;
  }

  void observe(const Observation& observation) override {
    seen_.insert(observation.configuration);
    inner_->observe(observation);
  }
  bool ready() override { return !first_.empty() || inner_->ready(); }
  SearchStatistics statistics() const override { return inner_->statistics(); }

 private:
  std::unique_ptr<Searcher> inner_;
  std::deque<space::Configuration> first_;
  std::unordered_set<space::Configuration, ConfigurationHash> seen_;  // proposed here, or observed
};

}  // namespace

std::unique_ptr<Searcher> make_started(std::unique_ptr<Searcher> inner,
                                       std::vector<space::Configuration> first) {
  return std::make_unique<StartedSearcher>(std::move(inner), std::move(first));
}

}  // namespace fettle::tune

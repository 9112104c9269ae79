// A session's live page: best-so-far curves of its tasks, its failures, its boards. A listener
// before the one that people see on their terminal.
#pragma once

#include <memory>
#include <string>

#include "host/app/session_boards.h"
#include "host/tune/listener.h"
#include "host/web/live_server.h"
#include "host/web/session_history.h"

namespace fettle::app {

class TunePage final : public tune::TuneListener {
 public:
  // `server`: null where there is no page; boards hear of the trials all the same. All of them
  // outlive this object. `title`: what is tuned.
  TunePage(web::LiveServer* server, SessionBoards& boards, tune::TuneListener& view,
           std::string title);

  void trial_done(std::size_t task, const records::TuningRecord& record,
                  const tune::Progress& progress) override;
  void confirmed(std::size_t task, std::span<const records::Confirmation> confirmations,
                 const tune::Progress& progress) override {
    view_.confirmed(task, confirmations, progress);
  }
  void tick(const tune::Progress& progress) override;
  void warn(const std::string& line) override { view_.warn(line); }
  // The page as the session ended, for those who look at that moment.
  void end(const tune::Progress& progress);

 private:
  void name_tasks(const tune::Progress& progress);
  void publish(const tune::Progress& progress, bool ended);

  web::LiveServer* server_;
  SessionBoards& boards_;
  tune::TuneListener& view_;
  const std::string title_;
  web::SessionHistory history_;
  bool named_ = false;
};

}  // namespace fettle::app

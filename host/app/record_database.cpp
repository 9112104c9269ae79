// Databases of records for commands (record_database.h).
#include "host/app/record_database.h"

#include "host/app/message.h"

namespace fettle::app {

Result<records::Database> open_to_read(const std::string& db) {
  records::OpenOptions how;
  how.read_only = true;
  how.create = false;
  how.say = note;
  return records::Database::open(db, how);
}

records::OpenOptions writing(const tune::StopSignal* stop) {
  records::OpenOptions how;
  how.say = note;
  if (stop != nullptr) how.give_up = [stop] { return stop->requested(); };
  return how;
}

Result<records::Database> open_to_write(const std::string& db, const tune::StopSignal* stop) {
  return records::Database::open(db, writing(stop));
}

}  // namespace fettle::app

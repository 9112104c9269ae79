// The broker's reservations: who may have which board for himself, and what the others are told.
#include <algorithm>

#include "host/fleet/broker_core.h"
#include "host/fleet/pool.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kMostNamed = 16;  // boards in one message for people

wire::BoardAnswerT refusal(Error error) {
  wire::BoardAnswerT answer;
  answer.error = std::make_unique<wire::ErrorT>(to_wire(clipped(std::move(error))));
  return answer;
}

}  // namespace

// By the name of its key first, which the broker's owner gave, then by its id, and by what it calls
// itself last. NotFound; InvalidArgument: several are called so.
Result<BrokerCore::NamedBoard> BrokerCore::board_named(const std::string& text) const {
  std::map<std::string, NamedBoard> by_name, by_id, by_host;  // by board id
  std::set<std::string> known;
  const auto look_at = [&](const NamedBoard& board, const std::string& host) {
    known.insert(board.name);
    if (board.name == text) by_name.emplace(board.id, board);
    if (board.id == text) by_id.emplace(board.id, board);
    if (host == text && !text.empty()) by_host.emplace(board.id, board);
  };
  for (const auto& [id, agent] : agents_) {
    if (!builds(agent)) look_at({agent.board.id, agent.who.name}, agent.board.hostname);
  }
  for (const auto& [id, there] : reservations_.all()) look_at({id, there.board_name}, "");
  for (const auto* found : {&by_name, &by_id, &by_host}) {
    if (found->size() == 1) return found->begin()->second;
    if (found->empty()) continue;
    std::string ids;
    std::size_t told = 0;
    for (const auto& [id, board] : *found) {
      if (++told <= kMostNamed) ids += (ids.empty() ? "" : ", ") + id;
    }
    return Error{ErrorCode::InvalidArgument, "'" + text + "' is the name of " +
                                                 std::to_string(found->size()) +
                                                 " boards; say the id of one: " + ids};
  }
  std::string names;
  std::size_t told = 0;
  for (const std::string& name : known) {
    if (++told <= kMostNamed) names += (names.empty() ? "" : ", ") + name;
  }
  return Error{ErrorCode::NotFound,
               "no board is called '" + text + "'; " +
                   (names.empty() ? "none has dialled in" : "this broker has: " + names)};
}

void BrokerCore::on_reserve(Client& client, const wire::ReserveBoardT& wanted, TimePoint now) {
  const auto board = board_named(wanted.board);
  if (!board) return send(client.peer, refusal(board.error()));
  // More is refused, however much more.
  const std::chrono::seconds longest = Reservations::kLongest + std::chrono::seconds(1);
  const std::chrono::seconds time(static_cast<std::int64_t>(
      std::min(wanted.seconds, static_cast<std::uint64_t>(longest.count()))));
  const auto reserved =
      reservations_.reserve({board->id, board->name, client.who, wanted.note, now + time}, now);
  if (!reserved) {
    tell(BrokerEventKind::ReservationRefused, client.who, reserved.error().message).board_id =
        board->id;
    return send(client.peer, refusal(reserved.error()));
  }
  const Reservation& there = *reservations_.of(board->id);
  tell(BrokerEventKind::BoardReserved, client.who, reservation_text(there, now)).board_id =
      board->id;
  note_change(SavedReservation{there.board_id, there.board_name, there.who, there.note,
                               std::chrono::floor<milliseconds>(time)});
  reopen_board(board->id, now);
  wire::BoardAnswerT answer;
  answer.board_id = board->id;
  answer.name = board->name;
  answer.seconds = static_cast<std::uint64_t>(time.count());
  send(client.peer, std::move(answer));
}

void BrokerCore::on_release_board(Client& client, const wire::ReleaseBoardT& wanted,
                                  TimePoint now) {
  const auto board = board_named(wanted.board);
  if (!board) return send(client.peer, refusal(board.error()));
  auto released = reservations_.release(board->id, board->name, client.who,
                                        client.who.public_key == owner_key_, now);
  if (!released) {
    tell(BrokerEventKind::ReservationRefused, client.who, released.error().message).board_id =
        board->id;
    return send(client.peer, refusal(released.error()));
  }
  end_reservation(*released, "released by '" + client.who.name + "'", now);
  wire::BoardAnswerT answer;
  answer.board_id = board->id;
  answer.name = board->name;
  send(client.peer, std::move(answer));
}

// It is out of the table already.
void BrokerCore::end_reservation(const Reservation& ended, const std::string& why, TimePoint now) {
  tell(BrokerEventKind::BoardReleased, ended.who, "'" + ended.board_name + "': " + why).board_id =
      ended.board_id;
  note_change(ReservationEnded{ended.board_id});
  reopen_board(ended.board_id, now);
}

void BrokerCore::end_reservations(TimePoint now) {
  for (const Reservation& ended : reservations_.take_ended(now)) {
    end_reservation(ended, "its time is over", now);
  }
}

// Its devices are offered again, to whom they are for now.
void BrokerCore::reopen_board(const std::string& board_id, TimePoint now) {
  for (auto& [id, agent] : agents_) {
    if (agent.peer.empty() || builds(agent) || agent.board.id != board_id) continue;
    close_devices(agent);
    open_devices(agent, now);
  }
}

DeviceAccess BrokerCore::access_of(const Agent& agent, std::uint32_t index) const {
  if (builds(agent)) return {};
  std::string kind;
  for (std::size_t i = 0; i < agent.kinds.size(); ++i) {
    if (agent.devices[i].index == index) kind = agent.kinds[i];
  }
  return {reservations_.key_of(agent.board.id), left_out(agent, index), std::move(kind)};
}

// Why a client has none of a pool's boards, where others have them; "": there are none.
std::string BrokerCore::kept_boards_text(const std::string& pool, const std::string& client_key,
                                         TimePoint now) const {
  std::string text;
  std::size_t told = 0;
  std::set<std::string> seen;
  for (const auto& [id, agent] : agents_) {
    if (agent.peer.empty() || builds(agent)) continue;
    const Reservation* there = reservations_.of(agent.board.id);
    if (there != nullptr && there->who.public_key == client_key) there = nullptr;
    for (const auto& device : agent.devices) {
      const bool drifts = left_out(agent, device.index);
      if (!works_in(device, pool) || (there == nullptr && !drifts)) continue;
      if (!seen.insert(agent.board.id).second || ++told > kMostNamed) break;
      text += (text.empty() ? "" : "; ") +
              (there ? reservation_text(*there, now)
                     : "'" + agent.who.name + "' is left out, for it drifts from its siblings");
    }
  }
  return text;
}

}  // namespace fettle::fleet

// What the broker decided about its peers, for an audit log: the core makes a list of these,
// the shell takes it (BrokerCore::take_events) and writes it where it likes.
#pragma once

#include <cstdint>
#include <string>

namespace fettle::fleet {

enum class BrokerEventKind : std::uint8_t {
  PeerRejected,    // a message of it was answered by a Reject: text says why
  QuotaHit,        // over a bound of its key or session: text says which, `bytes` how far, if bytes
  LeaseOverdue,    // an agent held a lease beyond its deadline: taken from it, its device rests
  SessionOpened,   // by a client
  SessionClosed,   // by the client, or with it; also at the end of one whose key was revoked
  AgentJoined,     // said its first Hello
  AgentLost,       // it ended, was silent or replaced, or its key was revoked: text says which
  ClientLost,      // it ended, was silent, or its key was revoked: text says which
  KeyUnknown,      // somebody dialled with a key that is not on the allow list
  ConnectionsCut,  // strangers' connections, since the last of these: text says how many
  StateRestored,   // what another run of the broker had measured, read from its state
  BoardReserved,   // by a client: text says which board, for how long
  BoardReleased,   // a reservation ended: text says why
  BoardDrifts,     // its times stand apart from its siblings': text says how far
  BoardSteady,     // they do no more
  ReservationRefused,  // of a client that may not reserve, or release: text says why
};

struct BrokerEvent {
  BrokerEventKind kind = BrokerEventKind::PeerRejected;
  std::string name;           // of the peer's key in the allow list; "" for StateRestored
  std::string public_key;     // Z85
  std::string board_id;       // of an agent; "" where it is not known
  std::uint64_t session = 0;  // the broker's own number of it; 0: of none
  std::uint64_t lease = 0;    // 0: of none
  std::uint64_t trial = 0;    // the client's number of it; only with a session
  std::uint64_t bytes = 0;
  std::string text;  // for people, bounded; may quote what the peer sent: escape it
};

// "peer-rejected" and so on: a word that stays the same.
constexpr const char* event_name(BrokerEventKind kind) {
  switch (kind) {
    case BrokerEventKind::PeerRejected:
      return "peer-rejected";
    case BrokerEventKind::QuotaHit:
      return "quota-hit";
    case BrokerEventKind::LeaseOverdue:
      return "lease-overdue";
    case BrokerEventKind::SessionOpened:
      return "session-opened";
    case BrokerEventKind::SessionClosed:
      return "session-closed";
    case BrokerEventKind::AgentJoined:
      return "agent-joined";
    case BrokerEventKind::AgentLost:
      return "agent-lost";
    case BrokerEventKind::ClientLost:
      return "client-lost";
    case BrokerEventKind::KeyUnknown:
      return "key-unknown";
    case BrokerEventKind::ConnectionsCut:
      return "connections-cut";
    case BrokerEventKind::StateRestored:
      return "state-restored";
    case BrokerEventKind::BoardReserved:
      return "board-reserved";
    case BrokerEventKind::BoardReleased:
      return "board-released";
    case BrokerEventKind::BoardDrifts:
      return "board-drifts";
    case BrokerEventKind::BoardSteady:
      return "board-steady";
    case BrokerEventKind::ReservationRefused:
      return "reservation-refused";
  }
  return "unknown";
}

}  // namespace fettle::fleet

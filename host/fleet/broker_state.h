// What of the broker outlives its process: sessions, their trials and the leases on them,
// outcomes that are kept for clients, blobs, which board is whose, and which are reserved. The core
// tells what changes; a StateFile keeps it and gives it back to the next run.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "host/fleet/allow_list.h"
#include "host/fleet/blob_store.h"
#include "host/fleet/trial.h"

namespace fettle::fleet {

struct TrialKey {
  SessionKey session;
  std::uint64_t trial = 0;  // the client's number
  auto operator<=>(const TrialKey&) const = default;
};

struct SavedSession {
  SessionKey key;
  Permission who;  // its client
  std::string device_key, name;
  int priority = 0;
  std::uint64_t number = 0;
  std::string kind;  // that its programs are made for
};
struct SavedTrial {
  TrialKey key;
  std::string board_id;
  SharedBytes request;
  std::vector<wire::Hash> blobs;
  std::uint32_t attempts = 0;
};
// Of a trial that was saved before.
struct SavedLease {
  TrialKey key;
  LeaseId lease = 0;
  Permission who;  // its agent
  std::uint64_t agent_instance = 0;
  std::string board_id;
  std::uint32_t device = 0, attempts = 0;
  milliseconds allowed{0};
};
struct SavedOutcome {  // of a trial that has ended
  TrialKey key;
  SharedBytes message;  // a Completed
};
struct SavedBlob {
  wire::Hash hash;
  StoredBlob blob;
  BlobStore::Owner owner;
};
struct SavedPin {
  Permission who;
  std::string board;
};

struct SavedReservation {
  std::string board_id, board_name;
  Permission who;  // its client
  std::string note;
  milliseconds left{0};  // when it is told; the file keeps the time of day
};

struct SessionEnded {
  SessionKey key;  // its trials and outcomes are gone with it
};
struct LeaseEnded {  // without an outcome
  TrialKey key;
  std::uint32_t attempts = 0;
};
struct OutcomeForgotten {
  TrialKey key;
};
struct BlobGone {
  wire::Hash hash;
};
struct PinGone {
  std::string public_key;
};
struct ReservationEnded {
  std::string board_id;
};

using StateChange = std::variant<SavedSession, SessionEnded, SavedTrial, SavedLease, LeaseEnded,
                                 SavedOutcome, OutcomeForgotten, SavedBlob, BlobGone, SavedPin,
                                 PinGone, SavedReservation, ReservationEnded>;

struct BrokerState {
  std::uint64_t instance = 0;  // of the broker; 0: there was none before
  std::vector<SavedSession> sessions;
  std::vector<SavedTrial> trials;
  std::vector<SavedLease> leases;
  std::vector<SavedOutcome> outcomes;
  std::vector<SavedBlob> blobs;
  std::vector<SavedPin> pins;
  std::vector<SavedReservation> reservations;
};

}  // namespace fettle::fleet

// Short talks with a broker, without a session: one question, one answer.
#pragma once

#include <chrono>
#include <string>

#include "host/fleet/broker_address.h"
#include "host/tune/pipeline.h"
#include "schemas/protocol_generated.h"
#include "schemas/wire/result.h"

namespace fettle::fleet {

// What `fettle devices` shows. Unreachable, after a second where nothing listens there; Canceled:
// `stop`; what the broker refuses it with.
Result<wire::DeviceListT> list_devices(const BrokerAddress& broker,
                                       std::chrono::milliseconds answer_within,
                                       const tune::StopSignal* stop = nullptr);

// The broker's answer holds no error: that one is returned. Unsupported: the broker is older than
// reservations.
Result<wire::BoardAnswerT> reserve_board(const BrokerAddress& broker, const std::string& board,
                                         std::chrono::seconds time, const std::string& note,
                                         std::chrono::milliseconds answer_within);
Result<wire::BoardAnswerT> release_board(const BrokerAddress& broker, const std::string& board,
                                         std::chrono::milliseconds answer_within);

}  // namespace fettle::fleet

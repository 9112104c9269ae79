// Tokens between units (vta_order.h).
#include "tests/support/vta_order.h"

#include <algorithm>

namespace fettle::testing {

using namespace vta;

namespace {

std::size_t index(Unit unit) { return static_cast<std::size_t>(unit); }

// The bit that gives to, or takes from, a queue.
bool& push_bit(Tokens& tokens, TokenQueue queue) {
  const bool next = queue == TokenQueue::LoadToCompute || queue == TokenQueue::ComputeToStore;
  return next ? tokens.push_next : tokens.push_prev;
}

bool& pop_bit(Tokens& tokens, TokenQueue queue) {
  const bool prev = queue == TokenQueue::LoadToCompute || queue == TokenQueue::ComputeToStore;
  return prev ? tokens.pop_prev : tokens.pop_next;
}

TokenQueue queue_of(Unit from, Unit to) {
  if (from == Unit::Load) return TokenQueue::LoadToCompute;
  if (from == Unit::Store) return TokenQueue::StoreToCompute;
  return to == Unit::Load ? TokenQueue::ComputeToLoad : TokenQueue::ComputeToStore;
}

Instruction nothing(Unit unit) {
  if (unit == Unit::Store) return {{}, Store{{Memory::Output}}};
  return {{}, Load{{unit == Unit::Load ? Memory::Input : Memory::Uop}}};
}

}  // namespace

void VtaOrder::add(Instruction instruction) {
  const std::size_t unit = index(unit_of(instruction));
  instruction.tokens.pop_prev = taking_[unit].pop_prev;
  instruction.tokens.pop_next = taking_[unit].pop_next;
  taking_[unit] = {};
  last_[unit] = stream_.size();
  known_[unit][unit] = ++times_[unit];
  given_[unit] = known_[unit];
  stream_.push_back(std::move(instruction));
}

void VtaOrder::flush(Unit unit) {
  const Tokens& taking = taking_[index(unit)];
  if (taking.pop_prev || taking.pop_next) add(nothing(unit));
}

void VtaOrder::push(TokenQueue queue) {
  const Unit from = at(queue).from;
  // With the last one where its bit is free, else with one that does nothing.
  if (time(from) == 0 || push_bit(stream_[last_[index(from)]].tokens, queue)) add(nothing(from));
  push_bit(stream_[last_[index(from)]].tokens, queue) = true;
  at(queue).tokens.push_back(given_[index(from)]);
}

void VtaOrder::pop(TokenQueue queue) {
  const Unit to = at(queue).to;
  if (pop_bit(taking_[index(to)], queue)) flush(to);
  pop_bit(taking_[index(to)], queue) = true;
  Times& known = known_[index(to)];
  for (std::size_t i = 0; i < kUnits; ++i) {
    if (i != index(to)) known[i] = std::max(known[i], at(queue).tokens.front()[i]);
  }
  at(queue).tokens.pop_front();
}

void VtaOrder::wait(Unit unit, Unit other, std::size_t time) {
  if (unit == other || knows(unit, other, time)) return;
  if (unit != Unit::Compute && other != Unit::Compute) {
    wait(Unit::Compute, other, time);
    wait(unit, Unit::Compute, this->time(Unit::Compute));
    return;
  }
  const TokenQueue queue = queue_of(other, unit);
  const auto tells = [&](const Times& token) { return token[index(other)] >= time; };
  const std::deque<Times>& tokens = at(queue).tokens;
  if (std::none_of(tokens.begin(), tokens.end(), tells)) push(queue);
  while (!knows(unit, other, time)) pop(queue);
}

void VtaOrder::settle() {
  for (const TokenQueue queue : {TokenQueue::ComputeToLoad, TokenQueue::ComputeToStore}) {
    while (!at(queue).tokens.empty()) pop(queue);
    flush(at(queue).to);
  }
  wait(Unit::Compute, Unit::Load, time(Unit::Load));
  wait(Unit::Compute, Unit::Store, time(Unit::Store));
  for (const TokenQueue queue : {TokenQueue::LoadToCompute, TokenQueue::StoreToCompute}) {
    while (!at(queue).tokens.empty()) pop(queue);
  }
  flush(Unit::Compute);
}

}  // namespace fettle::testing

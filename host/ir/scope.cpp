// The tables of scopes and thread axes (scope.h).
#include "host/ir/scope.h"

namespace fettle::ir {

namespace {

constexpr ScopeRow kScopes[] = {
    {"global", Sharing::Program},          {"thread", Sharing::Thread},
    {"register", Sharing::Thread},         {"block_shared", Sharing::Block},
    {"fragment", Sharing::Warp},           {"input_scratchpad", Sharing::Block},
    {"weight_scratchpad", Sharing::Block}, {"accumulator_scratchpad", Sharing::Block},
};

constexpr ThreadAxisRow kAxes[] = {
    {"none", Sharing::Program},    {"block.x", Sharing::Block},   {"block.y", Sharing::Block},
    {"block.z", Sharing::Block},   {"thread.x", Sharing::Thread}, {"thread.y", Sharing::Thread},
    {"thread.z", Sharing::Thread},
};

}  // namespace

const ScopeRow& row_of(Scope scope) { return kScopes[static_cast<int>(scope)]; }
const ThreadAxisRow& row_of(ThreadAxis axis) { return kAxes[static_cast<int>(axis)]; }

}  // namespace fettle::ir

// What scenarios and software stacks call the forms of context parallelism.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "strategies/context_exchange.h"

namespace scenarios {

inline const std::vector<std::pair<std::string, strategies::ContextExchange>> kContextExchangeWords{
    {"ring", strategies::ContextExchange::kRing},
    {"all-gather", strategies::ContextExchange::kAllGather},
    {"all-to-all", strategies::ContextExchange::kAllToAll}};

}  // namespace scenarios

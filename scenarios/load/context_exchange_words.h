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

inline std::string context_exchange_word(strategies::ContextExchange exchange) {
  for (const auto& [word, value] : kContextExchangeWords) {
    if (value == exchange) return word;
  }
  return "";
}

}  // namespace scenarios

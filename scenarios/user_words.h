// The short words users of training frameworks know, for keys of the scenario file: --tp 8, --set tp=8.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace scenarios {

struct UserWord {
  std::string_view word, key, summary;
};

std::span<const UserWord> user_words();

/// The scenario key that a user's own word stands for ("tp" -> "plan.tensor"); `word` itself when it is none.
std::string key_of(std::string_view word);

}  // namespace scenarios

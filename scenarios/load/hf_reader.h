// A Hugging Face config.json as typed values with places. The JSON library is seen by hf_reader.cpp only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/load/diagnostics.h"

namespace scenarios {

/// No config.json is larger; more is refused unread.
inline constexpr std::size_t kLargestHfConfig = 4 << 20;

/// The configuration of the language model: the file's object, or its `text_config` with the file's object behind it.
/// Null counts as absent. A getter records a finding for a value of the wrong type or range.
class HfReader {
 public:
  using Keys = std::initializer_list<const char*>;

  /// Throws InputError for broken JSON. `text` and `diagnostics` must outlive the reader.
  HfReader(std::string_view text, Diagnostics& diagnostics);
  ~HfReader();

  bool has_text_config() const;
  bool has(const char* key) const;
  /// The first of `keys` that is present, or null.
  const char* present(Keys keys) const;

  std::optional<std::int64_t> integer(Keys keys, std::int64_t minimum, std::int64_t maximum);
  /// Like integer; absence is a finding with `advice`. `minimum` when there is a finding.
  std::int64_t required(Keys keys, std::int64_t minimum, std::int64_t maximum, std::string_view advice = "");
  bool boolean(const char* key, bool otherwise);
  std::optional<std::string> text(const char* key);
  /// Empty when absent.
  std::vector<std::int64_t> integers(const char* key);
  std::vector<std::string> texts(const char* key);

  /// A finding at `key`, or without a place when the key is null or absent.
  void error(const char* key, const std::string& message, const std::string& advice = "");
  bool failed() const;
  /// Throws InputError with all findings.
  [[noreturn]] void refuse() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scenarios

#include "scenarios/load/hf_reader.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/load/json_text.h"

namespace scenarios {
namespace {

using nlohmann::json;

constexpr int kDeepestNesting = 32;

/// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value - invalid
/// literal; last read: 'x'" -> "invalid literal": the place is given already, and what was read is shown below it.
std::string syntax_message(std::string_view what) {
  const auto dash = what.find(" - ");
  const auto bracket = what.find("] ");
  if (dash != std::string_view::npos) {
    what.remove_prefix(dash + 3);
  } else if (bracket != std::string_view::npos) {
    what.remove_prefix(bracket + 2);
  }
  return "broken JSON: " + std::string(what.substr(0, what.find("; last read: '")));
}

[[noreturn]] void refuse_at(Diagnostics& diagnostics, Place place, const std::string& message) {
  diagnostics.error(place, message);
  throw InputError(diagnostics.print());
}

json parse(std::string_view text, Diagnostics& diagnostics) {
  if (text.size() > kLargestHfConfig) refuse_at(diagnostics, Place{}, "larger than 4 MiB: not a config.json");
  if (const auto deep = nested_deeper_than(text, kDeepestNesting)) {
    refuse_at(diagnostics, place_of_byte(text, *deep), "nested deeper than 32 levels: not a config.json");
  }
  try {
    json parsed = json::parse(with_python_numbers_as_null(text));
    if (!parsed.is_object()) refuse_at(diagnostics, place_of_byte(text, 0), "a config.json is an object, {...}");
    return parsed;
  } catch (const json::parse_error& broken) {
    refuse_at(diagnostics, place_of_byte(text, broken.byte > 0 ? broken.byte - 1 : 0), syntax_message(broken.what()));
  } catch (const json::exception& broken) {  // a number out of range; the library tells no place
    refuse_at(diagnostics, Place{}, syntax_message(broken.what()));
  }
}

const json* member(const json* object, const char* key) {
  if (object == nullptr || key == nullptr) return nullptr;
  const auto found = object->find(key);
  return found == object->end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

struct HfReader::State {
  std::string_view text;
  Diagnostics& diagnostics;
  json file;
  const json* inner = nullptr;
  std::size_t inner_offset = 0;

  const json* find(const char* key) const {
    const json* value = member(inner, key);
    return value != nullptr ? value : member(&file, key);
  }

  Place place(const char* key) const {
    if (find(key) == nullptr) return {};
    const auto offsets = find_json_key(text, member(inner, key) != nullptr ? inner_offset : 0, key);
    return offsets ? place_of_byte(text, offsets->key) : Place{};
  }

  void wrong_type(const char* key, const char* wanted) const {
    std::string shown = find(key)->dump(-1, ' ', true, json::error_handler_t::replace);
    constexpr std::size_t kShown = 40;
    if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
    diagnostics.error(place(key), "'" + std::string(key) + "' must be " + wanted + ", not " + shown);
  }

  /// The list at `key`; null when absent or something else, which is a finding.
  const json* list(const char* key) const {
    const json* value = find(key);
    if (value == nullptr || value->is_array()) return value;
    wrong_type(key, "a list");
    return nullptr;
  }
};

HfReader::HfReader(std::string_view text, Diagnostics& diagnostics)
    : state_(std::make_unique<State>(State{text, diagnostics, parse(text, diagnostics)})) {
  const json* inner = member(&state_->file, "text_config");
  if (inner == nullptr || !inner->is_object()) return;
  state_->inner = inner;
  if (const auto offsets = find_json_key(text, 0, "text_config")) state_->inner_offset = offsets->value;
}

HfReader::~HfReader() = default;

bool HfReader::has_text_config() const { return state_->inner != nullptr; }

bool HfReader::has(const char* key) const { return state_->find(key) != nullptr; }

const char* HfReader::present(Keys keys) const {
  for (const char* key : keys) {
    if (has(key)) return key;
  }
  return nullptr;
}

std::optional<std::int64_t> HfReader::integer(Keys keys, std::int64_t minimum, std::int64_t maximum) {
  const char* key = present(keys);
  if (key == nullptr) return std::nullopt;
  const json& value = *state_->find(key);
  if (!value.is_number_integer()) {
    state_->wrong_type(key, "a whole number");
    return std::nullopt;
  }
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargest);
  const std::int64_t number = huge ? kLargest : value.get<std::int64_t>();
  if (number >= minimum && number <= maximum) return number;
  error(key, "'" + std::string(key) + "' is " + value.dump() + ", outside " + std::to_string(minimum) + " to " +
                 std::to_string(maximum));
  return std::nullopt;
}

std::int64_t HfReader::required(Keys keys, std::int64_t minimum, std::int64_t maximum, std::string_view advice) {
  if (present(keys) != nullptr) return integer(keys, minimum, maximum).value_or(minimum);
  std::string names;
  for (const char* key : keys) names += (names.empty() ? "'" : " or '") + std::string(key) + "'";
  error(nullptr, names + " is missing", std::string(advice));
  return minimum;
}

bool HfReader::boolean(const char* key, bool otherwise) {
  const json* value = state_->find(key);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  state_->wrong_type(key, "true or false");
  return otherwise;
}

std::optional<std::string> HfReader::text(const char* key) {
  const json* value = state_->find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  state_->wrong_type(key, "text");
  return std::nullopt;
}

std::vector<std::int64_t> HfReader::integers(const char* key) {
  std::vector<std::int64_t> numbers;
  const json* list = state_->list(key);
  if (list == nullptr) return numbers;
  for (const json& item : *list) {
    if (!item.is_number_integer()) {
      state_->wrong_type(key, "a list of whole numbers");
      return {};
    }
    numbers.push_back(item.get<std::int64_t>());
  }
  return numbers;
}

std::vector<std::string> HfReader::texts(const char* key) {
  std::vector<std::string> words;
  const json* list = state_->list(key);
  if (list == nullptr) return words;
  for (const json& item : *list) {
    if (!item.is_string()) {
      state_->wrong_type(key, "a list of texts");
      return {};
    }
    words.push_back(item.get<std::string>());
  }
  return words;
}

void HfReader::error(const char* key, const std::string& message, const std::string& advice) {
  state_->diagnostics.error(state_->place(key), message, advice);
}

bool HfReader::failed() const { return state_->diagnostics.has_errors(); }

void HfReader::refuse() const { throw InputError(state_->diagnostics.print()); }

}  // namespace scenarios

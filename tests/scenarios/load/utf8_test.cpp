#include "scenarios/load/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace scenarios {
namespace {

// The first and the last of each length, and their neighbours that are none.
TEST(Utf8, CharactersHaveOneToFourBytes) {
  const std::pair<std::string, std::size_t> cases[] = {
      {"a", 1},
      {"\x7F", 1},
      {"\x80", 0},
      {"\xC1\xBF", 0},
      {"\xC2\x80", 2},
      {"\xDF\xBF", 2},
      {"\xE0\x9F\xBF", 0},
      {"\xE0\xA0\x80", 3},
      {"\xED\x9F\xBF", 3},
      {"\xED\xA0\x80", 0},  // half of a pair of UTF-16
      {"\xEF\xBF\xBF", 3},
      {"\xF0\x8F\xBF\xBF", 0},
      {"\xF0\x90\x80\x80", 4},
      {"\xF4\x8F\xBF\xBF", 4},
      {"\xF4\x90\x80\x80", 0},
      {"\xF5\x80\x80\x80", 0},
      {"\xE2\x82", 0},  // cut short
      {"\xC3x", 0},
  };
  for (const auto& [text, length] : cases) {
    EXPECT_EQ(character_length(text), length) << testing::PrintToString(text);
    EXPECT_TRUE(length == 0 || character_length(text + "\x80") == length) << "whatever follows";
  }
}

TEST(Utf8, PrintableTextIsUtf8WithoutControlCharacters) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"plain\ttext", "plain\ttext"},
      {"\x1b[2J\r\x7f", "?[2J??"},
      {std::string("a\0b", 3), "a?b"},
      {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x9A\x82", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x9A\x82"},
      {"\xC2\x9B\x33m \xC2\xA0", "?3m \xC2\xA0"},  // U+009B begins a command, U+00A0 is a blank
      {"\xFF\x80 \xE2\x82 \xC0\x80 \xED\xA0\x80", "?? ?? ?? ???"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(printable(text), printed);
}

}  // namespace
}  // namespace scenarios

#include "scenarios/load/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace scenarios {
namespace {

TEST(JsonText, PlacesCountFromOne) {
  const std::string text = "{\n  \"a\": 1\n}";
  EXPECT_EQ(place_of_byte(text, 0).line, 1);
  EXPECT_EQ(place_of_byte(text, 0).column, 1);
  EXPECT_EQ(place_of_byte(text, 4).line, 2);
  EXPECT_EQ(place_of_byte(text, 4).column, 3);
  EXPECT_EQ(place_of_byte(text, 1000).line, 3);
  EXPECT_EQ(place_of_byte("", 0).column, 1);
}

TEST(JsonText, NestingIgnoresBracketsInText) {
  EXPECT_EQ(nested_deeper_than("[[[]]]", 3), std::nullopt);
  EXPECT_EQ(nested_deeper_than("[[[]]]", 2), 2U);
  EXPECT_EQ(nested_deeper_than(R"(["[[[", "\"[[[", []])", 2), std::nullopt);
  EXPECT_EQ(nested_deeper_than("[][][][]", 1), std::nullopt);
  EXPECT_EQ(nested_deeper_than("\"never closed [[[\\", 1), std::nullopt);
}

TEST(JsonText, PythonNumbersKeepTheLength) {
  EXPECT_EQ(with_python_numbers_as_null("[Infinity, -Infinity, NaN]"), "[null    , null     , 0.0]");
  EXPECT_EQ(with_python_numbers_as_null(R"(["Infinity", "\"NaN"])"), R"(["Infinity", "\"NaN"])");
  EXPECT_EQ(with_python_numbers_as_null("[Infinitys, NaNs]"), "[Infinitys, NaNs]");
  EXPECT_EQ(with_python_numbers_as_null("NaN"), "0.0");
}

TEST(JsonText, KeysAreFoundAtTheirOwnLevel) {
  const std::string text = R"({"x": {"key": 1}, "text": "key", "key" : [2], "in\"ner": {"key": 3}})";
  const auto outer = find_json_key(text, 0, "key");
  ASSERT_TRUE(outer);
  EXPECT_EQ(text.substr(outer->key, 13), "\"key\" : [2], ");
  EXPECT_EQ(text.substr(outer->value, 3), "[2]");
  const auto x = find_json_key(text, 0, "x");
  ASSERT_TRUE(x);
  const auto inner = find_json_key(text, x->value, "key");
  ASSERT_TRUE(inner);
  EXPECT_EQ(text.substr(inner->value, 1), "1");
  EXPECT_FALSE(find_json_key(text, 0, "absent"));
  EXPECT_FALSE(find_json_key(text, x->value, "text"));
}

TEST(JsonText, TheLastOfDuplicateKeysCounts) {
  const std::string text = R"({"key": 1, "key": 2})";
  const auto found = find_json_key(text, 0, "key");
  ASSERT_TRUE(found);
  EXPECT_EQ(text.substr(found->value, 1), "2");
}

}  // namespace
}  // namespace scenarios

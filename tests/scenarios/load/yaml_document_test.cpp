#include "scenarios/load/yaml_document.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace scenarios {
namespace {

struct Parsed {
  explicit Parsed(const std::string& text) : diagnostics("a.yaml", text), root(parse_yaml(text, diagnostics)) {}
  Diagnostics diagnostics;
  std::optional<Value> root;
};

Value at(const Value& map, const std::string& key) {
  for (const Value::Entry& entry : map.entries()) {
    if (entry.key == key) return entry.value;
  }
  throw std::out_of_range(key);
}

TEST(YamlDocumentTest, KeepsKindsPlacesAndPaths) {
  const Parsed parsed("a: 1\nb: {c: \"2\", d: [1, x]}\ne:\n  f:\n");
  ASSERT_TRUE(parsed.root);
  const Value b = at(*parsed.root, "b");
  EXPECT_EQ(b.kind(), Value::Kind::kMap);
  EXPECT_EQ(b.path(), "b");
  EXPECT_EQ(at(b, "c").text(), "2");
  EXPECT_TRUE(at(b, "c").quoted());
  const Value x = at(b, "d").items().at(1);
  EXPECT_EQ(x.path(), "b.d[1]");
  EXPECT_EQ(x.place().line, 2);
  EXPECT_EQ(x.place().column, 20);
  const Value f = at(at(*parsed.root, "e"), "f");
  EXPECT_EQ(f.kind(), Value::Kind::kNull);
  EXPECT_EQ(f.path(), "e.f");
  EXPECT_EQ(f.place().line, 4);
  EXPECT_EQ(parsed.diagnostics.print(), "");
}

TEST(YamlDocumentTest, ReadsByteOrderMarkAndWindowsLineEnds) {
  const Parsed parsed("\xEF\xBB\xBFmodel: x\r\nplan: 'y'\r\n");
  ASSERT_TRUE(parsed.root);
  EXPECT_EQ(at(*parsed.root, "plan").text(), "y");
  EXPECT_EQ(at(*parsed.root, "plan").place().line, 2);
}

TEST(YamlDocumentTest, DuplicatesAreKeptAndReported) {
  const Parsed parsed("a: 1\na: 2\n");
  ASSERT_TRUE(parsed.root);
  EXPECT_EQ(parsed.root->entries().size(), 2U);
  EXPECT_EQ(parsed.diagnostics.print(),
            "a.yaml:2:1: error: duplicate key 'a'\n    2 | a: 2\n      | ^ first given in line 1\n");
}

TEST(YamlDocumentTest, NestingIsBounded) {
  for (const int depth : {32, 33, 100, 500, 100'000}) {
    std::string list;
    for (int i = 0; i < depth; ++i) list += "- ";
    const Parsed parsed(list + "x");
    EXPECT_EQ(parsed.root.has_value(), depth <= 32) << depth;
    EXPECT_EQ(parsed.diagnostics.has_errors(), depth > 32) << depth;
    const std::string brackets = "a: " + std::string(static_cast<std::size_t>(depth), '[');
    EXPECT_TRUE(Parsed(brackets).diagnostics.has_errors()) << depth;
  }
}

TEST(YamlDocumentTest, SizesAreBounded) {
  const Parsed file("a: " + std::string(std::size_t{1} << 20, 'x'));
  EXPECT_EQ(file.diagnostics.print(), "a.yaml: error: the file is larger than 1048576 bytes\n");
  std::string list = "[1";
  for (int i = 0; i < 30'000; ++i) list += ",1";
  const Parsed values(list + "]");
  ASSERT_EQ(values.diagnostics.findings().size(), 1U);
  EXPECT_EQ(values.diagnostics.findings()[0].message, "the document has more than 20000 values");
  const Parsed key(std::string(101, 'k') + ": 1");
  ASSERT_EQ(key.diagnostics.findings().size(), 1U);
  EXPECT_EQ(key.diagnostics.findings()[0].message, "a key of 101 characters");
}

struct Refusal {
  const char *name, *text, *message;
};

TEST(YamlDocumentTest, BytesThatAreNotTextAreRefused) {
  const std::vector<Refusal> refusals{
      {"null byte", "a: \x01", "not text: control character 0x01"},
      {"escape", "a: \x1b[0m", "not text: control character 0x1b"},
      {"delete",
       "\x7f"
       "ELF",
       "not text: control character 0x7f"},
      {"lone carriage return", "a: 1\rb: 2", "not text: control character 0x0d"},
      {"lone continuation", "a: \x80", "not text: a byte that is not UTF-8"},
      {"overlong", "a: \xC0\xAF", "not text: a byte that is not UTF-8"},
      {"surrogate", "a: \xED\xA0\x80", "not text: a byte that is not UTF-8"},
      {"above U+10FFFF", "a: \xF4\x90\x80\x80", "not text: a byte that is not UTF-8"},
      {"cut off", "a: \xE2\x82", "not text: a byte that is not UTF-8"},
      {"tab", "a:\n \tb: 1", "a tab in the indentation"},
      {"quote", "a: 'x\n", "this quote is never closed"},
      {"doubled quote", "a: 'x''", "the file ends inside a quoted text"},
      {"map as key", "{a: 1}: 2", "a key must be a word, not a list or map"},
      {"nothing as key", ": 2", "a key is missing"},
  };
  for (const Refusal& refusal : refusals) {
    const Parsed parsed(refusal.text);
    EXPECT_FALSE(parsed.root) << refusal.name;
    ASSERT_EQ(parsed.diagnostics.findings().size(), 1U) << refusal.name;
    EXPECT_EQ(parsed.diagnostics.findings()[0].message, refusal.message) << refusal.name;
  }
  EXPECT_EQ(Parsed(std::string("a: \0b", 5)).diagnostics.findings().at(0).message, "not text: control character 0x00");
}

TEST(OverrideTest, ReplacesCreatesAndDescends) {
  Parsed parsed("plan: {tensor: 8}\nnode: dgx-h100\n");
  Value root = with_override(*parsed.root, "plan.tensor", "4", parsed.diagnostics);
  root = with_override(root, "price.pue", "1.1", parsed.diagnostics);
  root = with_override(root, "plan.layers", "[1, 2]", parsed.diagnostics);
  root = with_override(root, "node.nics", "4", parsed.diagnostics);
  EXPECT_EQ(at(at(root, "plan"), "tensor").text(), "4");
  EXPECT_EQ(at(at(root, "plan"), "tensor").place().override_number, 1);
  EXPECT_EQ(at(at(root, "price"), "pue").path(), "price.pue");
  EXPECT_EQ(at(at(root, "plan"), "layers").items().size(), 2U);
  EXPECT_EQ(at(at(root, "node"), "base").text(), "dgx-h100");  // a name becomes the base of its change
  EXPECT_EQ(at(at(root, "node"), "nics").text(), "4");
  EXPECT_EQ(at(root, "plan").place().line, 1);
  EXPECT_EQ(parsed.diagnostics.print(), "");
}

TEST(OverrideTest, DefectsNameTheOption) {
  Parsed parsed("plan: [1]\n");
  with_override(*parsed.root, "plan..tensor", "4", parsed.diagnostics);
  with_override(*parsed.root, "plan.tensor", "4", parsed.diagnostics);
  with_override(*parsed.root, "tensor", "", parsed.diagnostics);
  with_override(*parsed.root, "tensor", "{a: 1", parsed.diagnostics);
  with_override(*parsed.root, "tensor", "*x", parsed.diagnostics);
  EXPECT_EQ(parsed.diagnostics.print(),
            "--set plan..tensor=4: error: the key is not a path; write it like plan.tensor=8\n"
            "--set plan.tensor=4: error: 'plan' is a list; it can only be set as a whole\n"
            "--set tensor=: error: the value is missing\n"
            "--set tensor={a: 1: error: a key must be a word, not a list or map; is the bracket closed?\n"
            "--set tensor=*x: error: aliases (*name) are not supported; write the value out\n");
}

TEST(MergedTest, LaysMapsOverMaps) {
  Parsed base("a: 1\nb: {c: 2, d: [3]}\n");
  Parsed over("x:\n  b: {c: 9}\n  e: 5\n");
  const Value all = merged(*base.root, at(*over.root, "x"), {7, 3});
  EXPECT_EQ(all.path(), "x");
  EXPECT_EQ(at(all, "a").text(), "1");
  EXPECT_EQ(at(all, "a").path(), "x.a");
  EXPECT_EQ(at(all, "a").place().line, 7);
  EXPECT_EQ(at(at(all, "b"), "c").text(), "9");
  EXPECT_EQ(at(at(all, "b"), "c").place().line, 2);
  EXPECT_EQ(at(at(all, "b"), "d").items().at(0).path(), "x.b.d[0]");
  EXPECT_EQ(at(all, "e").text(), "5");
  EXPECT_EQ(without(all, "b").entries().size(), 2U);
  EXPECT_EQ(at(replaced(all, "a", at(all, "e")), "a").text(), "5");
}

TEST(MapReaderTest, ReadsTypes) {
  Parsed parsed("i: -3\nn: 2.5e3\nb: true\nt: word\nq: 400 Gb/s\nl: [1, 2]\nw: two\n");
  MapReader reader(*parsed.root, parsed.diagnostics);
  EXPECT_EQ(reader.integer("i", -5, 5), -3);
  EXPECT_EQ(reader.number("n", 0, 1e9), 2500);
  EXPECT_EQ(reader.boolean("b"), true);
  EXPECT_EQ(reader.text("t"), "word");
  EXPECT_EQ(reader.quantity("q", QuantityKind::kBandwidth, 0, 1e12), 50e9);
  EXPECT_EQ(reader.integers("l", 1, 2), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(reader.one_of<int>("w", {{"one", 1}, {"two", 2}}), 2);
  EXPECT_EQ(reader.integer("absent", 0, 1), std::nullopt);
  reader.finish();
  EXPECT_EQ(parsed.diagnostics.print(), "");
  EXPECT_EQ(parsed.diagnostics.known(), (std::set<std::string>{"absent", "b", "i", "l", "n", "q", "t", "w"}));
}

TEST(MapReaderTest, EveryDefectIsAFinding) {
  Parsed parsed(
      "i: 6\nj: 1.0\nk: 99999999999999999999\nn: .inf\nm: 1e999\nb: True\nt: [1]\nq: 5 TB/s\nl: [1, x, 9]\nw: tow\n"
      "v:\nmore: 1\n");
  MapReader reader(*parsed.root, parsed.diagnostics);
  EXPECT_EQ(reader.integer("i", -5, 5), std::nullopt);
  EXPECT_EQ(reader.integer("j", 0, 5), std::nullopt);
  EXPECT_EQ(reader.integer("k", 0, std::numeric_limits<std::int64_t>::max()), std::nullopt);
  EXPECT_EQ(reader.number("n", 0, 1e9), std::nullopt);
  EXPECT_EQ(reader.number("m", 0, 1e9), std::nullopt);
  EXPECT_EQ(reader.boolean("b"), std::nullopt);
  EXPECT_EQ(reader.text("t"), std::nullopt);
  EXPECT_EQ(reader.quantity("q", QuantityKind::kBandwidth, 1e6, 1e12), std::nullopt);
  EXPECT_EQ(reader.integers("l", 1, 2), std::nullopt);
  EXPECT_EQ(reader.one_of<int>("w", {{"one", 1}, {"two", 2}}), std::nullopt);
  EXPECT_EQ(reader.value("v"), std::nullopt);
  reader.missing("name", "give one");
  reader.finish();
  std::vector<std::string> texts;
  for (const Finding& finding : parsed.diagnostics.findings()) {
    texts.push_back(finding.message + (finding.advice.empty() ? "" : " | " + finding.advice));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "'i: 6' is out of range | use -5 to 5",
                       "'j' must be a whole number, not '1.0'",
                       "'k: 99999999999999999999' is out of range | use 0 or more",
                       "'n' must be a number, not '.inf'",
                       "'m: 1e999' is out of range | use 0 to 1e+09",
                       "'b' must be true or false, not 'True'",
                       "'t' must be a word, not a list",
                       "'q: 5 TB/s' is out of range | use 1 MB/s to 1 TB/s",
                       "'l' must be a whole number, not 'x'",
                       "'l: 9' is out of range | use 1 to 2",
                       "'w: tow' is not known | did you mean 'two'? (use one, two)",
                       "'v' has no value",
                       "'name' is missing | give one",
                       "unknown key 'more' | known here: b, i, j, k, l, m, n, q, t, v, w",
                   }));
}

}  // namespace
}  // namespace scenarios

#include "scenarios/load/yaml_document.h"

#include <fmt/format.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <span>
#include <sstream>

#include "scenarios/load/utf8.h"

namespace scenarios {

struct Value::Node {
  Kind kind = Kind::kNull;
  Place place;
  std::string path;
  std::string text;
  bool quoted = false;
  std::vector<Value> items;
  std::vector<Entry> entries;
};

Value::Value(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
Value::Kind Value::kind() const { return node_->kind; }
Place Value::place() const { return node_->place; }
const std::string& Value::path() const { return node_->path; }
const std::string& Value::text() const { return node_->text; }
bool Value::quoted() const { return node_->quoted; }
std::vector<Value> Value::items() const { return node_->items; }
std::vector<Value::Entry> Value::entries() const { return node_->entries; }

namespace {

// No scenario comes near these; they keep hostile input from costing time or memory.
constexpr std::size_t kMaximumBytes = std::size_t{1} << 20;
constexpr std::size_t kMaximumValues = 20'000;
constexpr std::size_t kMaximumKeyLength = 100;
constexpr std::size_t kMaximumDepth = 32;

std::string child_path(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : parent + "." + key;
}

/// Ends parsing at the first defect that makes the rest meaningless.
struct Refused {
  Place place;
  std::string message, advice;
};

/// Builds our tree from yaml-cpp's events. Aliases are refused before anything is copied.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, Place origin, std::string root_path, Diagnostics& diagnostics)
      : text_(text), origin_(origin), root_path_(std::move(root_path)), diagnostics_(diagnostics) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Refused{place(mark), "a second document starts here", "keep one document per file"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "", anchor);
    Value::Node node;
    node.kind = Value::Kind::kNull;
    // The mark of a missing value is that of the next token; the key says more.
    node.place = !open_.empty() && open_.back().key ? open_.back().key->second : place(mark);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { throw alias(place(mark)); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    check(mark, tag, anchor);
    if (tag == "!" && !closed_quote(mark)) throw Refused{place(mark), "this quote is never closed", ""};
    if (expects_key()) return take_key(place(mark), text);
    Value::Node node;
    node.quoted = tag == "!";
    const bool null = !node.quoted && (text.empty() || text == "~" || text == "null");
    node.kind = null ? Value::Kind::kNull : Value::Kind::kScalar;
    node.place = place(mark);
    node.text = text;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    start(mark, tag, anchor, Value::Kind::kList, style);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    start(mark, tag, anchor, Value::Kind::kMap, style);
  }
  void OnMapEnd() override { end(); }

  std::optional<Value> root() const { return root_; }
  /// The defect that yaml-cpp reports, in our words where its place or words mislead.
  Refused refused(const YAML::Exception& problem) const {
    namespace words = YAML::ErrorMsg;
    const std::string& what = problem.msg;
    const auto bracket = std::find_if(open_.rbegin(), open_.rend(), [](const Open& open) { return open.flow; });
    if ((what == words::END_OF_MAP_FLOW || what == words::END_OF_SEQ_FLOW) && bracket != open_.rend()) {
      const bool map = bracket->node.kind == Value::Kind::kMap;
      return {bracket->node.place, fmt::format("this '{}' is never closed", map ? '{' : '['), ""};
    }
    const Place where = place(problem.mark);
    if (what == words::END_OF_MAP || what == words::END_OF_SEQ) {
      return {where, "this line does not belong to the map or list above", "check the indentation"};
    }
    if (what == words::EOF_IN_SCALAR) return {where, "the file ends inside a quoted text", "close the quote"};
    if (what.starts_with(words::UNKNOWN_ANCHOR)) return alias(where);
    return {where, "not valid YAML: " + what, ""};
  }
  Place place(const YAML::Mark& mark) const {
    if (origin_.override_number > 0) return origin_;
    return mark.is_null() ? Place{} : Place{mark.line + 1, mark.column + 1};
  }

 private:
  struct Open {
    Value::Node node;
    std::optional<std::pair<std::string, Place>> key;  ///< read, its value not yet
    std::map<std::string, Place> seen;
    bool flow;  ///< written with brackets
  };

  static Refused alias(Place where) { return {where, "aliases (*name) are not supported", "write the value out"}; }

  bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == Value::Kind::kMap && !open_.back().key;
  }

  /// yaml-cpp takes the end of the file for a closing quote.
  bool closed_quote(const YAML::Mark& mark) const {
    const auto begin = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (begin >= text_.size() || (text_[begin] != '\'' && text_[begin] != '"')) return true;
    const char quote = text_[begin];
    for (std::size_t i = begin + 1; i < text_.size(); ++i) {
      const bool escape = quote == '"' ? text_[i] == '\\' : text_.substr(i).starts_with("''");
      if (escape) {
        ++i;
      } else if (text_[i] == quote) {
        return true;
      }
    }
    return false;
  }

  std::string next_path() const {
    if (open_.empty()) return root_path_;
    const Open& parent = open_.back();
    if (parent.key) return child_path(parent.node.path, parent.key->first);
    return fmt::format("{}[{}]", parent.node.path, parent.node.items.size());
  }

  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) throw Refused{place(mark), "anchors (&name) are not supported", "write the value out"};
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Refused{place(mark), fmt::format("tags ('{}') are not supported", shortened(tag)), "remove the tag"};
    }
    if (++values_ > kMaximumValues) {
      throw Refused{place(mark), fmt::format("the document has more than {} values", kMaximumValues), ""};
    }
  }

  void take_key(Place where, const std::string& key) {
    if (key.size() > kMaximumKeyLength) {
      throw Refused{where, fmt::format("a key of {} characters", key.size()),
                    fmt::format("keys have at most {}", kMaximumKeyLength)};
    }
    Open& map = open_.back();
    const auto [first, fresh] = map.seen.emplace(key, where);
    if (!fresh) {
      diagnostics_.error(where, fmt::format("duplicate key '{}'", key),
                         origin_.override_number > 0 ? "keep one of the two"
                                                     : fmt::format("first given in line {}", first->second.line));
    }
    map.key.emplace(key, where);
  }

  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Value::Kind kind,
             YAML::EmitterStyle::value style) {
    check(mark, tag, anchor);
    if (expects_key()) {
      throw Refused{place(mark), "a key must be a word, not a list or map",
                    style == YAML::EmitterStyle::Flow ? "is the bracket closed?" : ""};
    }
    if (open_.size() >= kMaximumDepth) {
      throw Refused{place(mark), fmt::format("nested deeper than {} levels", kMaximumDepth), ""};
    }
    Value::Node node;
    node.kind = kind;
    node.place = place(mark);
    node.path = next_path();
    open_.push_back({std::move(node), std::nullopt, {}, style == YAML::EmitterStyle::Flow});
  }

  void end() {
    Value::Node node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(Value::Node node) {
    if (expects_key()) throw Refused{node.place, "a key is missing", ""};
    node.path = next_path();
    Value value(std::make_shared<const Value::Node>(std::move(node)));
    if (open_.empty()) {
      root_ = value;
      return;
    }
    Open& parent = open_.back();
    if (!parent.key) return parent.node.items.push_back(value);
    parent.node.entries.push_back({parent.key->first, parent.key->second, value});
    parent.key.reset();
  }

  std::string_view text_;  ///< without byte order mark, as yaml-cpp counts
  Place origin_;
  std::string root_path_;
  Diagnostics& diagnostics_;
  std::vector<Open> open_;
  std::optional<Value> root_;
  int documents_ = 0;
  std::size_t values_ = 0;
};

/// What is wrong with the bytes themselves, before any YAML.
std::optional<Refused> text_defect(std::string_view text) {
  if (text.size() > kMaximumBytes) {
    return Refused{{}, fmt::format("the file is larger than {} bytes", kMaximumBytes), ""};
  }
  Place place{1, 1};
  bool indentation = true;
  for (std::size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < text.size();) {
    const std::size_t length = character_length(text.substr(i));
    const char c = text[i];
    if (length == 0) return Refused{place, "not text: a byte that is not UTF-8", "is this a YAML file?"};
    if (c == '\n') {
      place = {place.line + 1, 1};
      indentation = true;
      ++i;
      continue;
    }
    if (c == '\t' && indentation) return Refused{place, "a tab in the indentation", "indent with spaces"};
    const bool line_end = c == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && !line_end) || c == 0x7F) {
      return Refused{place, fmt::format("not text: control character 0x{:02x}", c), "is this a YAML file?"};
    }
    indentation = indentation && c == ' ';
    place.column += static_cast<int>(length);
    i += length;
  }
  return std::nullopt;
}

std::optional<Value> parse(std::string_view text, Place origin, const std::string& path, Diagnostics& diagnostics) {
  const std::string_view body = text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
  TreeBuilder builder(body, origin, path, diagnostics);
  try {
    if (const std::optional<Refused> defect = text_defect(text)) throw Refused(*defect);
    std::istringstream stream{std::string(body)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.root();
  } catch (const Refused& refused) {
    diagnostics.error(origin.override_number > 0 ? origin : refused.place, refused.message, refused.advice);
  } catch (const YAML::Exception& problem) {
    const Refused refused = builder.refused(problem);
    diagnostics.error(refused.place, refused.message, refused.advice);
  } catch (const std::exception& problem) {  // yaml-cpp lets some of the standard library's through
    diagnostics.error(origin, fmt::format("not valid YAML: {}", problem.what()));
  }
  return std::nullopt;
}

std::shared_ptr<Value::Node> map_node(Place place, std::string path, std::vector<Value::Entry> entries) {
  auto node = std::make_shared<Value::Node>();
  node->kind = Value::Kind::kMap;
  node->place = place;
  node->path = std::move(path);
  node->entries = std::move(entries);
  return node;
}

/// A copy at another place and path.
Value moved(const Value& value, Place place, const std::string& path) {
  auto node = std::make_shared<Value::Node>();
  node->kind = value.kind();
  node->place = place;
  node->path = path;
  node->text = value.text();
  node->quoted = value.quoted();
  for (const Value& item : value.items()) {
    node->items.push_back(moved(item, place, fmt::format("{}[{}]", path, node->items.size())));
  }
  for (const Value::Entry& entry : value.entries()) {
    node->entries.push_back({entry.key, place, moved(entry.value, place, child_path(path, entry.key))});
  }
  return Value(node);
}

/// `target` (nullopt: absent) with `leaf` at the end of the keys.
Value placed_in(const std::optional<Value>& target, std::span<const std::string> keys, const Value& leaf,
                const std::string& path) {
  if (keys.empty()) return leaf;
  std::vector<Value::Entry> entries;
  if (target && target->kind() == Value::Kind::kMap) entries = target->entries();
  if (target && target->kind() == Value::Kind::kScalar) {
    // `node: dgx-h100` overridden at node.nics means: that node, changed.
    entries.push_back({"base", target->place(), moved(*target, target->place(), child_path(path, "base"))});
  }
  const std::string below = child_path(path, keys.front());
  const auto entry = std::ranges::find(entries, keys.front(), &Value::Entry::key);
  if (entry == entries.end()) {
    entries.push_back({keys.front(), leaf.place(), placed_in(std::nullopt, keys.subspan(1), leaf, below)});
  } else {
    entry->value = placed_in(entry->value, keys.subspan(1), leaf, below);
    if (keys.size() == 1) entry->place = leaf.place();
  }
  const bool existing = target && target->kind() != Value::Kind::kNull;
  return Value(map_node(existing ? target->place() : leaf.place(), path, std::move(entries)));
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> keys;
  while (true) {
    const std::size_t dot = path.find('.');
    keys.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return keys;
    path.remove_prefix(dot + 1);
  }
}

}  // namespace

std::optional<Value> parse_yaml(std::string_view text, Diagnostics& diagnostics) {
  const bool had_errors = diagnostics.has_errors();
  std::optional<Value> root = parse(text, {}, "", diagnostics);
  const bool empty = !root || root->kind() == Value::Kind::kNull;
  if (empty && diagnostics.has_errors() == had_errors) diagnostics.error({}, "the file is empty");
  return empty ? std::nullopt : root;
}

Value with_override(const Value& root, std::string_view path, std::string_view value, Diagnostics& diagnostics) {
  const Place place{0, 0, diagnostics.add_override(fmt::format("--set {}={}", path, value))};
  const std::vector<std::string> keys = split_path(path);
  const bool bad_key =
      std::ranges::any_of(keys, [](const std::string& key) { return key.empty() || key.size() > kMaximumKeyLength; });
  if (bad_key || keys.size() >= kMaximumDepth) {
    diagnostics.error(place, "the key is not a path", "write it like plan.tensor=8");
    return root;
  }
  const std::size_t before = diagnostics.findings().size();
  const std::optional<Value> leaf = parse(value, place, std::string(path), diagnostics);
  if (!leaf || leaf->kind() == Value::Kind::kNull) {
    if (diagnostics.findings().size() == before) diagnostics.error(place, "the value is missing");
    return root;
  }
  std::optional<Value> target = root;
  std::string above;
  for (const std::string& key : keys) {
    if (target && target->kind() == Value::Kind::kList) {
      diagnostics.error(place, fmt::format("'{}' is a list; it can only be set as a whole", above));
      return root;
    }
    if (!target || target->kind() != Value::Kind::kMap) break;
    above = child_path(above, key);
    const std::vector<Value::Entry> entries = target->entries();
    const auto entry = std::ranges::find(entries, key, &Value::Entry::key);
    target = entry == entries.end() ? std::nullopt : std::optional(entry->value);
  }
  return placed_in(root, keys, *leaf, root.path());
}

Value merged(const Value& base, const Value& over, Place base_place) {
  const std::vector<Value::Entry> changes = over.entries();
  std::vector<Value::Entry> entries;
  for (const Value::Entry& entry : base.entries()) {
    const std::string path = child_path(over.path(), entry.key);
    const auto change = std::ranges::find(changes, entry.key, &Value::Entry::key);
    if (change == changes.end()) {
      entries.push_back({entry.key, base_place, moved(entry.value, base_place, path)});
    } else if (entry.value.kind() == Value::Kind::kMap && change->value.kind() == Value::Kind::kMap) {
      entries.push_back({entry.key, change->place, merged(entry.value, change->value, base_place)});
    } else {
      entries.push_back(*change);
    }
  }
  for (const Value::Entry& change : changes) {
    if (std::ranges::find(entries, change.key, &Value::Entry::key) == entries.end()) entries.push_back(change);
  }
  return Value(map_node(over.place(), over.path(), std::move(entries)));
}

Value without(const Value& map, std::string_view key) {
  std::vector<Value::Entry> entries = map.entries();
  std::erase_if(entries, [key](const Value::Entry& entry) { return entry.key == key; });
  return Value(map_node(map.place(), map.path(), std::move(entries)));
}

Value replaced(const Value& map, std::string_view key, const Value& value) {
  std::vector<Value::Entry> entries = map.entries();
  for (Value::Entry& entry : entries) {
    if (entry.key == key) entry.value = value;
  }
  return Value(map_node(map.place(), map.path(), std::move(entries)));
}

}  // namespace scenarios

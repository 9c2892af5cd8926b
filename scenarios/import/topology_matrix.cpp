#include "scenarios/import/topology_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <numeric>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

constexpr std::size_t kMostDevices = 256;

struct Word {
  std::string_view text;
  int column = 0;  ///< 1-based, in the line as it stands
};

struct Line {
  int number = 0;
  std::vector<Word> words;
};

/// Words of a line; terminal codes (ESC [ ... letter) count as blanks.
Line split(std::string_view text, int number) {
  Line line{number, {}};
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\x1b') {
      while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) == 0) ++at;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
    } else {
      const std::size_t begin = at;
      while (at < text.size() && text[at] != '\x1b' && std::isspace(static_cast<unsigned char>(text[at])) == 0) ++at;
      line.words.push_back({text.substr(begin, at - begin), static_cast<int>(begin) + 1});
    }
  }
  return line;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_gpu(std::string_view word) { return word.starts_with("GPU") && is_number(word.substr(3)); }

/// NIC3; older drivers print the device: mlx5_0, bnxt_re0, rdmap16s27.
bool is_nic(std::string_view word) {
  static constexpr std::array<std::string_view, 6> kPrefixes{"NIC", "mlx4_", "mlx5_", "bnxt_re", "rdmap", "irdma"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    return word.starts_with(prefix) && word.size() > prefix.size() &&
           std::isdigit(static_cast<unsigned char>(word[prefix.size()])) != 0;
  });
}

struct Cell {
  PathClass path = PathClass::kSys;
  int lanes = 0;  ///< 0 = one of unknown width (XGMI)
};

std::optional<Cell> cell_of(std::string_view word) {
  static constexpr std::array<PathClass, 6> kClasses{PathClass::kSelf, PathClass::kPix,  PathClass::kPxb,
                                                     PathClass::kPhb,  PathClass::kNode, PathClass::kSys};
  const auto* const known = std::ranges::find_if(kClasses, [&](PathClass path) { return word == name(path); });
  if (known != kClasses.end()) return Cell{*known, 0};
  if (word == "0") return Cell{PathClass::kSelf, 0};
  if (word == "XGMI") return Cell{PathClass::kScaleUp, 1};
  if (word == "PCIE") return Cell{PathClass::kSys, 0};
  if (word.starts_with("NV") && is_number(word.substr(2)) && word.size() < 6) {
    int lanes = 0;
    std::from_chars(word.data() + 2, word.data() + word.size(), lanes);
    if (lanes > 0) return Cell{PathClass::kScaleUp, lanes};
  }
  return std::nullopt;
}

/// Joins what is near: the PCIe tree from pairwise distances (single linkage).
class Clusters {
 public:
  explicit Clusters(std::size_t count) : leader_(count) { std::iota(leader_.begin(), leader_.end(), std::size_t{0}); }
  std::size_t leader(std::size_t i) const {
    while (leader_[i] != i) i = leader_[i];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    const auto [low, high] = std::minmax({leader(a), leader(b)});
    leader_[high] = low;
  }

 private:
  std::vector<std::size_t> leader_;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : file_(file) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      Line line = split(text.substr(0, end), ++number);
      if (!line.words.empty()) lines_.push_back(std::move(line));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
  }

  NodeTopology run() {
    const std::size_t header = find_header();
    read_rows(header);
    fill_missing_rows();
    read_legend();
    add_devices();
    build_tree();
    add_scale_up();
    return std::move(topology_);
  }

 private:
  [[noreturn]] void fail(int line, int column, const std::string& message, const std::string& advice) const {
    throw InputError(fmt::format("{}:{}:{}: error: {}\n  {}\n", file_, line, column, message, advice));
  }

  /// The first line that begins with GPU0 and whose next line is GPU0's row; reads its columns.
  std::size_t find_header() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::vector<Word>& words = lines_[i].words;
      if (words.front().text != "GPU0" || (words.size() > 1 && cell_of(words[1].text))) continue;
      for (const Word& word : words) {
        if (!is_gpu(word.text) && !is_nic(word.text)) break;
        columns_.emplace_back(word.text);
      }
      const auto affinity = std::ranges::find(words, std::string_view("CPU"), &Word::text);
      has_affinity_ = affinity != words.end();
      check_columns(lines_[i]);
      return i;
    }
    fail(1, 1, "no matrix of GPUs found", "pass the whole output of nvidia-smi topo -m");
  }

  void check_columns(const Line& header) const {
    std::vector<std::string> sorted = columns_;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end())
      fail(header.number, 1, fmt::format("column {} stands twice", *twice), "is this one matrix?");
    if (columns_.size() > kMostDevices) {
      fail(header.number, 1, fmt::format("more than {} devices", kMostDevices), "is this one server?");
    }
  }

  void read_rows(std::size_t header) {
    rows_.assign(columns_.size(), {});
    affinity_.assign(columns_.size(), "");
    topology_.source = "nvidia-smi topo -m";
    for (std::size_t i = header + 1; i < lines_.size(); ++i) {
      const auto column = std::ranges::find(columns_, lines_[i].words.front().text);
      if (column == columns_.end()) break;
      read_row(lines_[i], static_cast<std::size_t>(column - columns_.begin()));
    }
  }

  void read_row(const Line& line, std::size_t index) {
    const std::vector<Word>& words = line.words;
    if (!rows_[index].empty()) fail(line.number, 1, fmt::format("row {} stands twice", columns_[index]), "keep one");
    if (words.size() < columns_.size() + 1) {
      fail(
          line.number, 1,
          fmt::format("row {} has {} cells, the header {} devices", columns_[index], words.size() - 1, columns_.size()),
          "pass the whole output; a terminal may have cut it");
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Word& word = words[i + 1];
      const std::optional<Cell> cell = cell_of(word.text);
      if (!cell) {
        fail(line.number, word.column, fmt::format("unknown word '{}'", shortened(word.text)),
             "cells are X, NV1 to NV99, XGMI, PIX, PXB, PHB, NODE or SYS");
      }
      if ((cell->path == PathClass::kSelf) != (i == index)) {
        fail(line.number, word.column, fmt::format("'{}' does not stand on the diagonal", shortened(word.text)),
             "a device is X to itself alone");
      }
      if (word.text == "XGMI" || word.text == "PCIE") topology_.source = "rocm-smi --showtopotype";
      rows_[index].push_back(*cell);
    }
    const bool more = has_affinity_ && words.size() > columns_.size() + 1;
    if (more) affinity_[index] = words[columns_.size() + 1].text;
  }

  /// Printed matrices are symmetric: a missing row is its column.
  void fill_missing_rows() {
    const std::size_t size = columns_.size();
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < size; ++i) {
      if (!rows_[i].empty()) continue;
      if (is_gpu(columns_[i]))
        fail(lines_.back().number, 1, fmt::format("row {} is missing", columns_[i]), "pass it all");
      missing.push_back(columns_[i]);
    }
    for (const std::string& device : missing) {
      const auto i = static_cast<std::size_t>(std::ranges::find(columns_, device) - columns_.begin());
      rows_[i].assign(size, Cell{});
      for (std::size_t j = 0; j < size; ++j) {
        if (j != i && std::ranges::count(missing, columns_[j]) == 0) rows_[i][j] = rows_[j][i];
      }
    }
    if (missing.empty()) return;
    topology_.notes.push_back(
        fmt::format("rows {} to {} are missing; their columns tell them, but not how far they are "
                    "from each other (taken as SYS)",
                    missing.front(), missing.back()));
  }

  /// "NIC0: mlx5_0" below the matrix.
  void read_legend() {
    names_.assign(columns_.size(), "");
    for (const Line& line : lines_) {
      if (line.words.size() != 2 || !line.words[0].text.ends_with(":")) continue;
      const std::string_view device = line.words[0].text.substr(0, line.words[0].text.size() - 1);
      const auto column = std::ranges::find(columns_, device);
      if (column == columns_.end()) continue;
      names_[static_cast<std::size_t>(column - columns_.begin())] = line.words[1].text;
    }
  }

  void add_devices() {
    int nics = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (is_gpu(columns_[i])) {
        topology_.devices.push_back({TopologyKind::kGpu, columns_[i], "", -1, {}, {}, ""});
        continue;
      }
      if (!columns_[i].starts_with("NIC")) names_[i] = columns_[i];
      std::string shown = fmt::format("NIC{}", nics++);
      if (!names_[i].empty()) shown += fmt::format(" ({})", names_[i]);
      topology_.devices.push_back({TopologyKind::kNic, shown, "", -1, {}, {}, ""});
    }
  }

  /// Over PCIe. Scale-up links hide how far two GPUs are apart there: CPU affinity tells the NUMA node.
  PathClass distance(std::size_t a, std::size_t b) const {
    const PathClass path = std::min(rows_[a][b].path, rows_[b][a].path);
    if (path != PathClass::kScaleUp) return path;
    return affinity_[a] == affinity_[b] ? PathClass::kNode : PathClass::kSys;
  }

  void build_tree() {
    struct Level {
      PathClass within;
      TopologyKind kind;
    };
    // A lone device still gets its own switch where its neighbours have one, else two would look as near as PIX.
    static constexpr std::array<Level, 4> kLevels{{{PathClass::kPix, TopologyKind::kPcieSwitch},
                                                   {PathClass::kPxb, TopologyKind::kPcieSwitch},
                                                   {PathClass::kPhb, TopologyKind::kHostBridge},
                                                   {PathClass::kNode, TopologyKind::kCpu}}};
    const std::size_t count = columns_.size();
    Clusters clusters(count);
    std::vector<int> top(count);  // the device that stands for a cluster, by its leader
    std::iota(top.begin(), top.end(), 0);
    for (const Level& level : kLevels) {
      const Clusters finer = clusters;
      for (std::size_t a = 0; a < count; ++a) {
        for (std::size_t b = a + 1; b < count; ++b) {
          if (distance(a, b) <= level.within) clusters.join(a, b);
        }
      }
      add_level(level.kind, level.within, finer, clusters, top);
    }
  }

  void add_level(TopologyKind kind, PathClass within, const Clusters& finer, const Clusters& clusters,
                 std::vector<int>& top) {
    const std::size_t count = columns_.size();
    for (std::size_t leader = 0; leader < count; ++leader) {
      if (clusters.leader(leader) != leader) continue;
      std::vector<std::size_t> parts;  // leaders of the finer clusters
      for (std::size_t i = leader; i < count; ++i) {
        if (clusters.leader(i) == leader && finer.leader(i) == i) parts.push_back(i);
      }
      // Switches stand only where they join something; every device hangs on a bridge, and that on a CPU.
      const bool needed = kind == TopologyKind::kCpu || kind == TopologyKind::kHostBridge || parts.size() > 1;
      if (!needed) continue;
      const int joint = add_joint(kind);
      for (const std::size_t part : parts) hang(part, joint, within, top);
      top[leader] = joint;
    }
  }

  int add_joint(TopologyKind kind) {
    const std::size_t ordinal = topology_.all(kind).size();
    const std::string shown =
        kind == TopologyKind::kCpu ? fmt::format("CPU{}", ordinal) : fmt::format("{} {}", name(kind), ordinal);
    topology_.devices.push_back({kind, shown, "", -1, {}, {}, ""});
    return static_cast<int>(topology_.devices.size()) - 1;
  }

  void hang(std::size_t part, int joint, PathClass within, std::vector<int>& top) {
    int child = top[part];
    const bool bare = topology_.devices[static_cast<std::size_t>(child)].kind != TopologyKind::kPcieSwitch;
    if (within == PathClass::kPxb && bare) {
      const int own = add_joint(TopologyKind::kPcieSwitch);
      topology_.devices[static_cast<std::size_t>(child)].parent = own;
      child = own;
    }
    topology_.devices[static_cast<std::size_t>(child)].parent = joint;
  }

  /// All pairs with the same number of lanes, more than one GPU has for so many peers: switches.
  void add_scale_up() {
    constexpr int kMostLanes = 18;  // of a GPU: NVLink 4 and 5
    const std::vector<int> gpus = topology_.all(TopologyKind::kGpu);
    std::vector<ScaleUpLink> pairs;
    for (const int a : gpus) {
      for (const int b : gpus) {
        const Cell cell = rows_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
        if (a < b && cell.path == PathClass::kScaleUp) pairs.push_back({a, b, cell.lanes, {}});
      }
    }
    const std::size_t all_pairs = gpus.size() * (gpus.size() - 1) / 2;
    const bool equal = std::ranges::all_of(pairs, [&](const ScaleUpLink& l) { return l.lanes == pairs.front().lanes; });
    if (gpus.size() > 2 && pairs.size() == all_pairs && equal &&
        pairs.front().lanes * (static_cast<int>(gpus.size()) - 1) > kMostLanes) {
      for (const int gpu : gpus) topology_.scale_up.push_back({gpu, ScaleUpLink::kSwitches, pairs.front().lanes, {}});
      return;
    }
    topology_.scale_up = std::move(pairs);
  }

  const std::string& file_;
  std::vector<Line> lines_;
  std::vector<std::string> columns_, affinity_, names_;
  bool has_affinity_ = false;
  std::vector<std::vector<Cell>> rows_;
  NodeTopology topology_;
};

}  // namespace

NodeTopology parse_topology_matrix(std::string_view text, const std::string& file) { return Parser(text, file).run(); }

}  // namespace scenarios

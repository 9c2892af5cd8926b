// README.md and docs: the commands they show work, and the outputs they show are what the program prints.
//
//   ```sh                               ```
//   trainyard memory x.yaml  # exit 1    $ trainyard catalog
//   bash .ci/test                        its output ...
//   ```                                  ```
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/scenarios/cli/run_binary.h"
#include "tests/scenarios/whole_tables.h"

namespace scenarios {
namespace {

namespace fs = std::filesystem;

struct Block {
  std::string file, language, text;
  int line = 0;
};

std::vector<std::string> pages() {
  std::vector<std::string> pages{"README.md"};
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(TRAINYARD_SOURCE_DIR) / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back("docs/" + entry.path().filename().string());
  }
  std::ranges::sort(pages);
  return pages;
}

std::string page_text(const std::string& file) { return read_file(std::string(TRAINYARD_SOURCE_DIR) + "/" + file); }

/// The fenced blocks of a page.
std::vector<Block> blocks_of(const std::string& file) {
  std::vector<Block> blocks;
  std::istringstream lines(page_text(file));
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({.file = file, .language = line.substr(3), .text = "", .line = number});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  EXPECT_FALSE(inside) << file << " ends inside a block";
  return blocks;
}

std::vector<Block> all_blocks() {
  std::vector<Block> blocks;
  for (const std::string& page : pages()) {
    for (Block& block : blocks_of(page)) blocks.push_back(std::move(block));
  }
  return blocks;
}

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// "trainyard memory x.yaml  # exit 1" without program name and comment; outputs go to a scratch folder.
RunResult run_shown(const std::string& line, const ScratchFolder& scratch) {
  std::vector<std::string> words = words_of(line.substr(0, line.find(" #")));
  words.erase(words.begin());
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i - 1] == "--trace") words[i] = scratch.path(words[i]);
  }
  return run_binary(words);
}

int promised_exit_code(const std::string& line) {
  constexpr std::string_view kMark = "# exit ";
  const std::size_t mark = line.find(kMark);
  return mark == std::string::npos ? 0 : std::stoi(line.substr(mark + kMark.size()));
}

TEST(Docs, CommandsWork) {
  const ScratchFolder scratch;
  int commands = 0;
  for (const Block& block : all_blocks()) {
    if (block.language != "sh") continue;
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);) {
      SCOPED_TRACE(fmt::format("{}:{}: {}", block.file, block.line, line));
      if (line.starts_with("bash .ci/")) {
        EXPECT_TRUE(fs::is_regular_file(fs::path(TRAINYARD_SOURCE_DIR) / words_of(line)[1]));
      } else if (line.starts_with("trainyard ") && (kWholeTables || !names_whole_table(line))) {
        const RunResult run = run_shown(line, scratch);
        EXPECT_EQ(run.exit_code, promised_exit_code(line)) << run.error;
        ++commands;
      }
    }
  }
  EXPECT_GE(commands, 5);
}

/// Puts what the program really prints in the place of `block`, which starts with its command line.
void correct(const Block& block, const std::string& output) {
  std::string text = page_text(block.file);
  const std::size_t command = block.text.find('\n') + 1;
  text.replace(text.find(block.text) + command, block.text.size() - command, output);
  write_text(std::string(TRAINYARD_SOURCE_DIR) + "/" + block.file, text);
}

TEST(Docs, OutputsAreReal) {
  const char* update = std::getenv("TRAINYARD_UPDATE_GOLDEN");
  const ScratchFolder scratch;
  int outputs = 0;
  for (const Block& block : all_blocks()) {
    if (!block.text.starts_with("$ trainyard ")) continue;
    SCOPED_TRACE(fmt::format("{}:{}", block.file, block.line));
    const std::size_t end = block.text.find('\n');
    if (!kWholeTables && names_whole_table(block.text.substr(0, end))) continue;
    const std::string output = run_shown(block.text.substr(2, end - 2), scratch).output;
    ++outputs;
    if (update != nullptr && std::string(update) == "1") {
      correct(block, output);
    } else {
      EXPECT_EQ(block.text.substr(end + 1), output) << "TRAINYARD_UPDATE_GOLDEN=1 writes it anew";
    }
  }
  EXPECT_GE(outputs, 1);
}

/// The part of a table between two lines, as Markdown: family, rows, median, p90, bias.
std::string readme_table(const std::string& output) {
  std::string table = "| family | rows | median % | p90 % | bias % |\n|---|---|---|---|---|\n";
  std::istringstream lines(output.substr(output.find("\nfamily ") + 1));
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    const std::size_t gap = line.find("  ");  // names hold single spaces
    table += "| " + line.substr(0, gap);
    std::istringstream cells(line.substr(gap));
    std::string cell;
    for (int i = 0; i < 4 && cells >> cell; ++i) table += " | " + cell;
    table += " |\n";
    if (line.starts_with("buyers")) break;
  }
  return table;
}

/// README shows the first figures of the run that docs/accuracy.md shows whole (checked above).
TEST(Docs, ReadmeShowsTheErrors) {
  std::string output;
  for (const Block& block : blocks_of("docs/accuracy.md")) {
    if (block.text.starts_with("$ trainyard accuracy tests/data/published/runs.csv ")) output = block.text;
  }
  ASSERT_FALSE(output.empty());
  const std::string expected = readme_table(output), readme = page_text("README.md");
  const std::size_t begin = readme.find("| family |");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = readme.find("\n\n", begin) + 1;
  const char* update = std::getenv("TRAINYARD_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    write_text(std::string(TRAINYARD_SOURCE_DIR) + "/README.md",
               readme.substr(0, begin) + expected + readme.substr(end));
  } else {
    EXPECT_EQ(readme.substr(begin, end - begin), expected) << "TRAINYARD_UPDATE_GOLDEN=1 writes it anew";
  }
}

TEST(Docs, ScenariosAreAccepted) {
  int scenarios = 0;
  for (const Block& block : all_blocks()) {
    if (block.language != "yaml" || block.text.find("model:") == std::string::npos) continue;
    SCOPED_TRACE(fmt::format("{}:{}", block.file, block.line));
    const RunResult run = run_binary({"simulate", "-", "--quiet"}, block.text);
    EXPECT_LE(run.exit_code, 1) << run.error;  // it may not fit, but it is sound
    ++scenarios;
  }
  EXPECT_GE(scenarios, 2);
}

/// [text](target) where target is a file of this repository.
TEST(Docs, LinksLeadSomewhere) {
  for (const std::string& page : pages()) {
    const std::string text = page_text(page);
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      if (target.starts_with("http")) continue;
      target = target.substr(0, target.find('#'));
      const fs::path folder = (fs::path(TRAINYARD_SOURCE_DIR) / page).parent_path();
      EXPECT_TRUE(target.empty() || fs::exists(folder / target)) << page << " links to " << target;
    }
  }
}

TEST(Docs, ReadmeIsShort) { EXPECT_LT(std::ranges::count(page_text("README.md"), '\n'), 150); }

TEST(Docs, ReadmeNamesEveryExample) {
  const std::string text = page_text("README.md");
  for (const std::string& file : example_files()) {
    EXPECT_NE(text.find(fs::path(file).stem().string()), std::string::npos) << file;
  }
}

}  // namespace
}  // namespace scenarios

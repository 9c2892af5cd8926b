// Rules every source file of the project obeys: what a folder may include, where a third-party library may be seen,
// what a header may hold, how long a file may be, and that the tests mirror the tree.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace repo {

struct SourceFile {
  std::string path;  ///< from the project's root, with '/'
  std::vector<std::string> lines;
};

inline constexpr std::size_t kMaxLines = 600;

/// All .h and .cpp files below the project's folders, sorted by path.
std::vector<SourceFile> read_sources(const std::string& root);

/// Every breach as "file:line: reason", in the order of the files.
std::vector<std::string> breaches(const std::vector<SourceFile>& files);

}  // namespace repo

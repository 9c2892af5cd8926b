#include "scenarios/import/read_topology.h"

#include <fmt/format.h>

#include "scenarios/import/nccl_xml.h"
#include "scenarios/import/topology_matrix.h"
#include "scenarios/load/diagnostics.h"
#include "scenarios/load/read_file.h"

namespace scenarios {

NodeTopology parse_topology(std::string_view text, const std::string& file) {
  if (text.find('\0') != std::string_view::npos) {
    throw InputError(
        fmt::format("{}: error: this is not a text file\n  pass topology XML or a printed matrix\n", file));
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool xml = first != std::string_view::npos && text[first] == '<';
  return xml ? parse_nccl_xml(text, file) : parse_topology_matrix(text, file);
}

NodeTopology read_topology(const std::string& file) {
  constexpr std::size_t kLargest = std::size_t{1} << 22;
  return parse_topology(read_bounded_file(file, kLargest, "a topology"), file);
}

}  // namespace scenarios

#include "scenarios/cli/command_line.h"

#include <fmt/format.h>

#include <sstream>

#include "scenarios/load/diagnostics.h"

namespace scenarios {

namespace po = boost::program_options;

po::variables_map parse_command_line(const std::string& verb, const std::vector<std::string>& arguments,
                                     const po::options_description& options,
                                     const po::positional_options_description& positions) {
  po::variables_map given;
  try {
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments).options(options).positional(positions).style(style).run(), given);
    po::notify(given);
  } catch (const po::error& error) {
    throw InputError(fmt::format("error: {}\n  see trainyard {} --help\n", error.what(), verb));
  }
  return given;
}

std::string help_text(const std::string& text, const po::options_description& options) {
  std::ostringstream stream;
  stream << text << options;
  return stream.str();
}

std::optional<std::filesystem::path> catalog_overlay(const po::variables_map& given) {
  if (given.count("catalog") == 0) return std::nullopt;
  return given["catalog"].as<std::string>();
}

}  // namespace scenarios

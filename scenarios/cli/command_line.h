// Parsing of a verb's arguments with Boost.Program_options.
#pragma once

#include <boost/program_options.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace scenarios {

/// `options`: all of them, the positional ones included. Abbreviated options are refused. Throws InputError that points
/// to the verb's --help.
boost::program_options::variables_map parse_command_line(
    const std::string& verb, const std::vector<std::string>& arguments,
    const boost::program_options::options_description& options,
    const boost::program_options::positional_options_description& positions);

/// `text` and the options below it.
std::string help_text(const std::string& text, const boost::program_options::options_description& options);

/// The directory given with --catalog, if any.
std::optional<std::filesystem::path> catalog_overlay(const boost::program_options::variables_map& given);

}  // namespace scenarios

// One figure in the text of a catalogue file. Read and written as text, so that comments and sources stay.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scenarios {

/// Key "host_speed" or "prices.kernel_launch" (one level, block style). nullopt: there is no such line, or its value
/// is not a number followed by exactly `unit` ("" = none).
std::optional<double> read_figure(const std::string& text, std::string_view key, std::string_view unit);

/// The same text with another number in that place; at most nine digits. Throws InputError where read_figure finds
/// nothing.
std::string write_figure(const std::string& text, std::string_view key, std::string_view unit, double value);

}  // namespace scenarios

// The checks of check.h, one per file, and how they name places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/program/program.h"

namespace strategies {

void check_references(const Program& program, std::vector<std::string>& defects);
void check_messages(const Program& program, std::vector<std::string>& defects);
void check_collectives(const Program& program, std::vector<std::string>& defects);
void check_cycles(const Program& program, std::vector<std::string>& defects);
void check_buffers(const Program& program, std::vector<std::string>& defects);
void check_progress(const Program& program, std::vector<std::string>& defects);

/// role 1 "stage 1"
std::string place_of_role(const Program& program, std::uint32_t role);
/// role 1 "stage 1", block 2 (BW), operation 3 "qkv"
std::string place_in_block(const Program& program, std::uint32_t role, std::uint32_t block, std::uint32_t operation);
/// role 1 "stage 1", action 5 (block 2 BW, microbatch 0)
std::string place_of_action(const Program& program, std::uint32_t role, std::uint32_t action);
/// role 1 "stage 1", action 5 (block 2 BW, microbatch 0), operation 3 "qkv"
std::string place_in_action(const Program& program, std::uint32_t role, std::uint32_t action, std::uint32_t operation);

}  // namespace strategies

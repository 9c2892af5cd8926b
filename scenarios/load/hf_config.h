// Hugging Face config.json -> ModelSpec.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "strategies/model.h"

namespace scenarios {

/// Throws InputError: file:line:column for broken JSON, one sentence for a model that cannot be expressed (vision,
/// encoder-decoder, hybrid state-space, interleaved linear attention, ...) naming what is not supported.
/// A multimodal file gives its language model (text_config). Attention windows are read where the family has them.
/// `file` is used in messages, `name` for the model.
strategies::ModelSpec import_hf_config(std::string_view json, const std::string& file, const std::string& name);
strategies::ModelSpec load_hf_config(const std::filesystem::path& path);

}  // namespace scenarios

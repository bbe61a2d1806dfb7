/// \file
/// What a checkpoint or a folder of them holds, as `stc-host inspect` shows it.
#pragma once

#include <string>
#include <vector>

#include "host/checkpoint/checkpoint_folder.hpp"

namespace stc::host {

/// One checkpoint: path, valid, problems (one line a broken file), step, run_id, version, files
/// with bytes and xxh3_128, counters, tensors by file with dtype, shape, bytes and xxh3_128,
/// aliases, state, config. What cannot be read is left out. With Verify::kSizes tensors have no
/// hash.
Value describe_checkpoint(FileSystem& files, const std::string& folder, Verify verify);

/// A checkpoints folder: path, valid, problems, run_id, latest and best (the pointers' steps or null),
/// checkpoints with step, valid and problems, unfinished temporaries, and newest:
/// describe_checkpoint of the one that a resume takes (null: none).
Value describe_folder(FileSystem& files, const std::string& directory, Verify verify);

/// Either as lines of text, without the configuration.
std::string report_text(const Value& report);

}  // namespace stc::host

/// \file
/// The line with which `stc-host run` ends.
#pragma once

#include <string>

#include "host/train/trainer.hpp"

namespace stc::host {

/// "completed steps=<n> samples=<n> tokens=<n> loss=<x|None>", as Speedtronic 2.0.0 prints it; the loss is
/// the shortest text that reads back as the same double.
std::string summary_line(const FitResult& result);

/// Prints summary_line to standard output and flushes it.
void print_summary(const FitResult& result);

}  // namespace stc::host

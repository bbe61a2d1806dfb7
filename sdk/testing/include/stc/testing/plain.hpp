/// \file
/// The conformance suites that need no LibTorch. Of models and optimizers: stc/testing/model.hpp
/// and stc/testing/optimizer.hpp.
#pragma once

#include "stc/testing/collective.hpp"
#include "stc/testing/coordinator.hpp"
#include "stc/testing/dataset.hpp"
#include "stc/testing/precision.hpp"
#include "stc/testing/sink.hpp"
#include "stc/testing/sync.hpp"
#include "stc/testing/tokenizer.hpp"

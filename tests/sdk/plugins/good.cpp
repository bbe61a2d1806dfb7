#include "tests/sdk/plugins/good.hpp"

STC_DEFINE_SINK(stc::sdk_test::Lines, "lines", "1.0.0", "one line an event");
STC_DEFINE_TOKENIZER(stc::sdk_test::Bytes, "bytes", "1.0.0", "one id a byte");
STC_DEFINE_TOKENIZER(stc::sdk_test::Pairs, "pairs", "1.0.0", "ab is one id");
STC_DEFINE_DATASET(stc::sdk_test::Documents, "documents", "1.0.0", "forty documents");
STC_DEFINE_PRECISION(stc::sdk_test::Scaler, "scaler", "1.0.0", "a loss scale");
STC_DEFINE_SYNC(stc::sdk_test::Memory, "memory", "1.0.0", "a place in memory");
STC_PLUGIN_LIBRARY(plain, stc::sdk_test::Lines, stc::sdk_test::Bytes, stc::sdk_test::Pairs, stc::sdk_test::Documents,
                   stc::sdk_test::Scaler, stc::sdk_test::Memory);

// Continuing at the exact next sample.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "tests/host/data/data_support.hpp"

using namespace stc::host;
using namespace stc::host::test;
using stc::testing::Folder;
namespace data = boost::unit_test::data;

namespace {

LoaderPosition stored(const LoaderPosition& position) {
  return position_from_value(Value::parse(to_value(position).dump()));
}

/// The unbroken run: each batch and the position behind it.
struct Unbroken {
  std::vector<std::string> batches;
  std::vector<LoaderPosition> behind;
};

Unbroken run(Loader& loader, size_t n) {
  Unbroken out;
  for (size_t i = 0; i < n; ++i) {
    out.batches.push_back(print(*loader.next()));
    out.behind.push_back(loader.position());
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resume)

BOOST_DATA_TEST_CASE(from_every_position_equals_the_unbroken_run, data::make(all_sources()), source) {
  const Folder folder;
  const auto parts = source.make(folder);
  DataSettings settings = source.settings;
  const Unbroken whole = run(*parts->loader(settings), 90);
  BOOST_REQUIRE_GE(whole.behind.back().pass, 3u);
  for (const int64_t workers : {0, 2}) {
    settings.num_workers = workers;
    for (size_t i = 0; i + 1 < whole.batches.size(); ++i) {
      const auto loader = parts->loader(settings);
      loader->seek(stored(whole.behind[i]));
      BOOST_REQUIRE(loader->position() == whole.behind[i]);
      for (size_t k = i + 1; k < std::min(i + 12, whole.batches.size()); ++k) {
        BOOST_REQUIRE_EQUAL(print(*loader->next()), whole.batches[k]);
        BOOST_REQUIRE_MESSAGE(loader->position() == whole.behind[k],
                              to_value(loader->position()) << " instead of " << to_value(whole.behind[k]));
      }
    }
  }
}

BOOST_DATA_TEST_CASE(in_a_chain_equals_the_unbroken_run, data::make(all_sources()), source) {
  const Folder folder;
  const auto parts = source.make(folder);
  DataSettings settings = source.settings;
  const Unbroken whole = run(*parts->loader(settings), 60);
  LoaderPosition position;
  for (size_t i = 0; i < whole.batches.size();) {
    settings.num_workers = static_cast<int64_t>(i % 3);
    const auto loader = parts->loader(settings);
    loader->seek(stored(position));
    for (size_t k = 0; k < 1 + i % 4 && i < whole.batches.size(); ++k, ++i) {
      BOOST_REQUIRE_EQUAL(print(*loader->next()), whole.batches[i]);
    }
    position = loader->position();
  }
}

BOOST_AUTO_TEST_CASE(position_counts_what_was_returned_not_what_was_prefetched) {
  const auto parts = synthetic_data(100, 4, 100, 1);
  DataSettings settings = settings_of(4, 2);
  settings.num_workers = 4;
  settings.prefetch_factor = 8;
  const auto loader = parts->loader(settings);
  for (uint64_t i = 1; i <= 5; ++i) {
    loader->next();
    BOOST_CHECK_EQUAL(loader->position().sample, 2 * i);
    BOOST_CHECK_EQUAL(loader->position().samples_total, 2 * i);
  }
}

BOOST_AUTO_TEST_CASE(another_micro_batch_size_goes_on_with_the_next_sample) {
  const auto parts = synthetic_data(30, 4, 1 << 20, 1);
  DataSettings settings = settings_of(4, 4);
  settings.shuffle = true;
  const auto before = parts->loader(settings);
  for (int i = 0; i < 3; ++i) before->next();
  DataSettings ones = settings;
  ones.micro_batch_size = 1;
  const auto single = parts->loader(ones);
  for (int i = 0; i < 12; ++i) single->next();
  const auto resumed = parts->loader(ones);
  resumed->seek(before->position());
  BOOST_CHECK(trace(*resumed, 30) == trace(*single, 30));
}

BOOST_AUTO_TEST_CASE(text_is_continued_with_another_piece_size) {
  const Folder folder;
  const auto parts = text_data(write_file(folder, "a.txt", random_text(23, 500)));
  const DataSettings settings = settings_of(10, 2);
  const auto whole = parts->loader(settings, {64});
  for (int i = 0; i < 40; ++i) {
    whole->next();
    const auto resumed = parts->loader(settings, {7 + static_cast<uint64_t>(i)});
    resumed->seek(whole->position());
    const auto reference = parts->loader(settings);
    reference->seek(whole->position());
    BOOST_REQUIRE(trace(*resumed, 5) == trace(*reference, 5));
  }
}

BOOST_AUTO_TEST_CASE(seek_drops_what_was_prefetched) {
  const Folder folder;
  const auto parts = text_data(write_file(folder, "a.txt", random_text(3, 500)));
  DataSettings settings = settings_of(10, 2);
  settings.num_workers = 1;
  settings.prefetch_factor = 8;
  const auto loader = parts->loader(settings);
  const auto first = trace(*loader, 7);
  loader->seek({});
  BOOST_CHECK(trace(*loader, 7) == first);
  loader->seek({});
  BOOST_CHECK(trace(*loader, 7) == first);
}

BOOST_AUTO_TEST_CASE(a_position_behind_the_end_is_an_error) {
  const Folder folder;
  const auto parts = text_data(write_file(folder, "a.txt", std::string(100, 'a')));
  const auto loader = parts->loader(settings_of(10, 2));
  LoaderPosition position;
  position.sample = 4;
  position.skip = 140;
  loader->seek(position);
  BOOST_CHECK_EXCEPTION(loader->next(), DataError, [](const DataError& error) {
    return std::string(error.what()).find("a.txt: ends 40 tokens before the saved position") != std::string::npos;
  });
  const auto synthetic = synthetic_data(10, 4, 100, 1);
  const auto rows = synthetic->loader(settings_of(4, 2));
  position.sample = 11;
  BOOST_CHECK_EXCEPTION(rows->seek(position), DataError, [](const DataError& error) {
    return std::string(error.what()) == "synthetic: has 10 samples, the saved position is 11";
  });
}

BOOST_AUTO_TEST_CASE(fingerprint_tells_what_decides_the_order) {
  const Folder folder;
  const auto parts = text_data(write_file(folder, "a.txt", "some text"));
  DataSettings settings = settings_of(4, 1);
  const Value first = parts->loader(settings)->fingerprint();
  settings.num_workers = 3;
  settings.prefetch_factor = 7;
  settings.micro_batch_size = 2;
  settings.shuffle = true;  // a stream is never shuffled
  BOOST_CHECK_EQUAL(parts->loader(settings)->fingerprint(), first);
  settings.block_size = 5;
  BOOST_CHECK_NE(parts->loader(settings)->fingerprint(), first);
  settings.block_size = 4;
  settings.seed = 9;
  BOOST_CHECK_NE(parts->loader(settings)->fingerprint(), first);
  settings.seed = 0;
  settings.drop_last = false;
  BOOST_CHECK_NE(parts->loader(settings)->fingerprint(), first);
  settings.drop_last = true;
  parts->use_bytes(255);
  BOOST_CHECK_NE(parts->loader(settings)->fingerprint(), first);
  const auto moved = text_data(write_file(folder, "b.txt", "some text"));
  BOOST_CHECK_EQUAL(moved->loader(settings)->fingerprint(), first);
  const auto changed = text_data(write_file(folder, "b.txt", "Some text"));
  BOOST_CHECK_NE(changed->loader(settings)->fingerprint(), first);
}

BOOST_AUTO_TEST_SUITE_END()

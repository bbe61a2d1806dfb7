// Damaged files and foreign locales.

#include <clocale>
#include <locale>
#include <random>

#include <boost/test/unit_test.hpp>

#include "host/config/document.hpp"
#include "host/config/explain.hpp"
#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {
namespace {

const std::string kYaml =
    "# run\nname: &n 'a b'\nmodel: &m {vocab_size: 64, n_head: 4}\noptimizer:\n  lr: 3e-4\n  "
    "betas: [0.9, 0.95]\n"
    "data:\n  <<: {micro_batch_size: 2}\n  target_batch_size: 4\n  text_path: |\n    "
    "x.txt\nlogging:\n  sinks:\n"
    "  - csv\n  - {name: csv, path: \"\\u00e9\"}\n";
const std::string kJson =
    R"({"name": "a\u00e9", "model": {"vocab_size": 64, "n_head": 4}, "optimizer": {"lr": 3e-4, "betas": [0.9, 0.95]}})";

/// Deletes, repeats, swaps and replaces bytes.
std::string damaged(std::string text, std::mt19937& random) {
  static const std::string kNasty = std::string("\t\n\r :,[]{}\"'&*!|>%@#-?<~0x.\\\xC3\xFF") + '\0';
  int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text.erase(at, 1 + random() % 5); break;
      case 1: text.insert(at, text.substr(random() % text.size(), random() % 20)); break;
      case 2: text[at] = kNasty[random() % kNasty.size()]; break;
      default: text.insert(at, 1, kNasty[random() % kNasty.size()]);
    }
  }
  return text;
}

/// A locale in which 1234.5 is written 1.234,5.
class CommaNumbers : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

class ForeignLocale {
 public:
  ForeignLocale() : old_(std::locale::global(std::locale(std::locale(), new CommaNumbers))) {
    std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed
  }
  ~ForeignLocale() {
    std::locale::global(old_);
    std::setlocale(LC_ALL, "C");
  }

 private:
  std::locale old_;
};

std::string everything(const Config& config) {
  return to_yaml(config.root()) + to_json(config.root()) + explain_keys(config, "", "text");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(robustness)

BOOST_AUTO_TEST_CASE(damaged_files_are_read_or_refused_with_a_place) {
  std::mt19937 random(20240);
  FakeCatalog catalog;
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    bool yaml = i % 2 == 0;
    std::string text = damaged(yaml ? kYaml : kJson, random);
    const std::string file = yaml ? "run.yaml" : "run.json";
    BOOST_TEST_CONTEXT(text) {
      try {
        NodePtr root = yaml ? read_yaml(text, file) : read_json(text, file);
        ++accepted;
        to_value(*root);
        show(*root);
      } catch (const ConfigError& error) {
        BOOST_TEST(error.at().file == file);
        BOOST_TEST(error.at().line > 0);
        BOOST_TEST(error.at().column > 0);
      }
    }
  }
  BOOST_TEST(accepted > 100);
}

BOOST_AUTO_TEST_CASE(damaged_files_load_or_fail_with_a_message) {
  std::mt19937 random(7);
  FakeCatalog catalog;
  for (int i = 0; i < 600; ++i) {
    std::string text = damaged(kYaml, random);
    BOOST_TEST_CONTEXT(text) {
      try {
        Config config = load(text, catalog, printing());
        BOOST_TEST(load(to_yaml(config.root()), catalog, printing()).root().dump() == config.root().dump());
      } catch (const ConfigError& error) {
        BOOST_TEST(std::string(error.what()).find(": ") != std::string::npos);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_locale_changes_nothing) {
  const std::string yaml = "optimizer: {lr: 0.0125}\nseed: 1234567\nmodel: {rope_base: 12345.5}\n";
  FakeCatalog catalog;
  std::string plain = everything(load(yaml, catalog));
  std::string error = error_of("optimizer: {lr: -1234.5}\n");
  ForeignLocale foreign;
  BOOST_TEST(everything(load(yaml, catalog)) == plain);
  BOOST_TEST(everything(load(R"({"optimizer": {"lr": 0.0125}})", catalog, {}, "run.json")).find("0.0125") !=
             std::string::npos);
  BOOST_TEST(error_of("optimizer: {lr: -1234.5}\n") == error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test

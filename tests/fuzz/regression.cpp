// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a target without libFuzzer: the empty input, every seed, and mutations of the seeds that are
// the same each time (ten times as many if GENV_TEST_FULL is 1). It gives the sanitizers inputs in
// every run of the tests; libFuzzer searches for new inputs.
//
//    fuzz_regression TARGET SEED-FOLDER MUTATIONS [MUTATION]
//
// The report names an input that fails: a file, or a number that repeats it alone as MUTATION.
#include "tests/fuzz/target.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

namespace {

using genv::fuzz::Target;
using Random = std::minstd_rand;

// The last input, for the report when a sanitizer fails.
std::string current;

struct Seed {
    std::string name;
    std::string text;
};

std::vector<Seed> readSeeds(const std::filesystem::path& folder) {
    std::vector<Seed> seeds{{"the empty input", ""}};
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        seeds.push_back(
            {entry.path().string(), std::string(std::istreambuf_iterator<char>(file), {})});
    }
    std::ranges::sort(seeds, {}, &Seed::name);
    return seeds;
}

std::size_t below(Random& random, std::size_t limit) {
    return limit == 0 ? 0 : random() % limit;
}

// Makes one change of a kind that parsers often handle wrongly.
void mutate(std::string& text, const std::vector<Seed>& seeds, Random& random) {
    static const std::vector<std::string> words{"0",
                                                "-1",
                                                "18446744073709551615",
                                                "4294967296",
                                                "null",
                                                "{}",
                                                "\xff",
                                                "\x1b[31m",
                                                "\"",
                                                "\\",
                                                std::string(1, '\0'),
                                                "\n",
                                                ",",
                                                "=",
                                                "9223372036854775808",
                                                "\xe2\x80\xae"};
    const std::size_t at = below(random, text.size() + 1);
    const std::size_t length = below(random, std::min<std::size_t>(text.size() - at, 64) + 1);
    switch (below(random, 8)) {
    case 0: // a bit
        if (at < text.size())
            text[at] =
                static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << below(random, 8)));
        break;
    case 1: // a byte
        if (at < text.size())
            text[at] = static_cast<char>(below(random, 256));
        break;
    case 2:
        text.erase(at, length);
        break;
    case 3:
        text.insert(below(random, text.size() + 1), text.substr(at, length));
        break;
    case 4:
        text.resize(at);
        break;
    case 5:
        text.insert(at, words[below(random, words.size())]);
        break;
    case 6:
        text.replace(at, length, words[below(random, words.size())]);
        break;
    default: { // the end of another seed
        const std::string& other = seeds[below(random, seeds.size())].text;
        text.replace(at, text.npos, other.substr(below(random, other.size() + 1)));
        break;
    }
    }
}

std::string mutation(std::size_t number, const std::vector<Seed>& seeds) {
    Random random(static_cast<Random::result_type>(number + 1));
    random.discard(4);
    std::string text = seeds[below(random, seeds.size())].text;
    for (std::size_t changes = 1 + below(random, 6); changes > 0; --changes)
        mutate(text, seeds, random);
    return text;
}

void run(const Target& target, std::string name, const std::string& text) {
    current = std::move(name);
    // Memory of exactly this size, so that an access beyond it is detected.
    const auto copy = std::make_unique<char[]>(text.size());
    std::ranges::copy(text, copy.get());
    target.run({copy.get(), text.size()});
}

void nameCurrent() {
    const std::string line = "fuzz: the input was " + current + "\n";
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

} // namespace

extern "C" void __sanitizer_set_death_callback(void (*callback)()); // NOLINT

int main(int argc, char** argv) {
    const auto found =
        argc < 4 ? genv::fuzz::targets().end()
                 : std::ranges::find_if(genv::fuzz::targets(),
                                        [&](const Target* each) { return each->name == argv[1]; });
    if (found == genv::fuzz::targets().end()) {
        std::fprintf(stderr, "usage: fuzz_regression TARGET SEED-FOLDER MUTATIONS [MUTATION]\n");
        for (const Target* each : genv::fuzz::targets())
            std::fprintf(stderr, "  %s\n", std::string(each->name).c_str());
        return 2;
    }
    std::signal(SIGABRT, [](int) {
        nameCurrent();
        std::signal(SIGABRT, SIG_DFL);
    });
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(nameCurrent);
#endif
    const std::vector<Seed> seeds = readSeeds(argv[2]);
    if (argc > 4) {
        run(**found, std::string("mutation ") + argv[4],
            mutation(std::strtoul(argv[4], nullptr, 10), seeds));
        return 0;
    }
    const char* full = std::getenv("GENV_TEST_FULL");
    const std::size_t mutations =
        std::strtoul(argv[3], nullptr, 10) * (full != nullptr && *full == '1' ? 10 : 1);
    for (const Seed& seed : seeds)
        run(**found, seed.name, seed.text);
    for (std::size_t number = 0; number < mutations; ++number)
        run(**found, "mutation " + std::to_string(number), mutation(number, seeds));
    std::printf("%s: %zu seeds and %zu mutations of them\n", argv[1], seeds.size(), mutations);
    return seeds.size() > 1 ? 0 : 1;
}

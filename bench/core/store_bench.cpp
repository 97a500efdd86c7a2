// SPDX-License-Identifier: LGPL-2.1-or-later
// Measures the state documents on a tmpfs, as on a real machine: writing one document, and reading
// and parsing all of them.
#include "bench/core/machine.hpp"
#include "bench/core/no_log.hpp"
#include "core/state/state_schema.hpp"
#include "service/state/file_store.hpp"

#include <filesystem>
#include <stdexcept>

namespace genv::bench {

namespace {

/// A store with the documents of a machine. The destructor removes it.
class FilledStore {
  public:
    explicit FilledStore(core::Pid environments) : folder_(newFolder()) {
        const Machine machine({environments, 8});
        for (const auto& [sequence, environment] : machine.ledger.environments()) {
            documents_.emplace_back(environment.id, core::encodeState(environment));
            store_.write(documents_.back().first, documents_.back().second);
        }
    }
    FilledStore(const FilledStore&) = delete;
    FilledStore& operator=(const FilledStore&) = delete;
    ~FilledStore() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    service::FileStore& store() { return store_; }
    /// Returns the id and text of each document.
    [[nodiscard]] const std::vector<std::pair<core::EnvironmentId, std::string>>&
    documents() const {
        return documents_;
    }

  private:
    static std::filesystem::path newFolder() {
        std::string name = "/dev/shm/genv-bench-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no folder in /dev/shm");
        return name;
    }

    NoLog log_;
    std::filesystem::path folder_;
    service::FileStore store_{folder_, log_};
    std::vector<std::pair<core::EnvironmentId, std::string>> documents_;
};

void measureWrite(benchmark::State& state, FilledStore& filled) {
    std::size_t next = 0;
    for ([[maybe_unused]] auto _ : state) {
        const auto& [id, document] = filled.documents()[next];
        filled.store().write(id, document);
        next = (next + 1) % filled.documents().size();
    }
}

void measureReading(benchmark::State& state, FilledStore& filled) {
    for ([[maybe_unused]] auto _ : state) {
        for (const core::Store::Found& found : filled.store().readAll()) {
            core::EnvironmentRecord environment = core::decodeState(found.text);
            benchmark::DoNotOptimize(environment.sequence);
        }
    }
}

} // namespace

void addStoreBenchmarks(core::Pid environments) {
    const auto add = [&](const char* name, auto measure) {
        benchmark::RegisterBenchmark(name,
                                     [environments, measure](benchmark::State& state) {
                                         FilledStore filled(environments);
                                         measure(state, filled);
                                     })
            ->ArgNames({"environments"})
            ->Args({environments});
    };
    add("a document written", measureWrite);
    add("all documents read", measureReading);
}

} // namespace genv::bench

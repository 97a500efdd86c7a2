// SPDX-License-Identifier: LGPL-2.1-or-later
// The switch of the mutants of `./dev test --mutate`. Only the mutated copies of sources include
// it, so it is in no other build. One build has all mutants. The environment of a process selects
// at most one of them, and may name a file that records which of them are reached.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace genv::tests {

/// What the environment says about mutants.
class MutantSwitch {
  public:
    MutantSwitch() {
        const std::string number = variable("GENV_MUTANT");
        if (!number.empty())
            selected_ = std::strtoul(number.c_str(), nullptr, 10);
        map(variable("GENV_MUTANTS_REACHED"));
    }

    /// Returns whether this mutant is selected, and records that it was reached.
    bool isOn(unsigned long id) const {
        if (id < size_)
            reached_[id] = 1;
        return id == selected_;
    }

  private:
    // Reads a variable of this process, or of its parent, because genvd starts a helper with an
    // empty environment.
    static std::string variable(const std::string& name) {
        if (const char* value = std::getenv(name.c_str()))
            return value;
        std::ifstream file("/proc/" + std::to_string(::getppid()) + "/environ", std::ios::binary);
        const std::string all = '\0' + std::string(std::istreambuf_iterator<char>(file),
                                                   std::istreambuf_iterator<char>());
        const std::string start = '\0' + name + '=';
        const std::size_t place = all.find(start);
        return place == std::string::npos ? "" : all.c_str() + place + start.size();
    }

    // Maps the record, which has one byte for each mutant. The mapping is shared, so a killed
    // process leaves a correct record, and so does a child.
    void map(const std::string& file) {
        if (file.empty())
            return;
        const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
        struct stat status {};
        if (fd < 0 || ::fstat(fd, &status) < 0)
            return;
        const auto size = static_cast<std::size_t>(status.st_size);
        void* place = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (place == MAP_FAILED)
            return;
        reached_ = static_cast<unsigned char*>(place);
        size_ = size;
    }

    unsigned long selected_ = 0; // mutants are numbered from 1
    unsigned char* reached_ = nullptr;
    std::size_t size_ = 0;
};

/// Returns whether the mutant of this number is selected.
inline bool mutant(unsigned long id) {
    static const MutantSwitch theSwitch;
    return theSwitch.isOn(id);
}

} // namespace genv::tests

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvml/linked_library.hpp"

#include <cstdint>

namespace genv::shims {

namespace {

using Address = ElfW(Addr);

// The tables by which a library's symbols are found.
struct Tables {
    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    const std::uint32_t* gnuHash = nullptr;
    const std::uint32_t* plainHash = nullptr;
};

// Returns the address of a table. If the section is writable, the linker has stored absolute
// addresses in it. Otherwise they are relative to the library.
template <typename Table>
Table tableAt(const link_map& library, Address address) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ELF has addresses
    return reinterpret_cast<Table>(address < library.l_addr ? address + library.l_addr : address);
}

Tables readTables(const link_map& library) {
    Tables tables;
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
        const Address address = entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB)
            tables.symbols = tableAt<const ElfW(Sym)*>(library, address);
        else if (entry->d_tag == DT_STRTAB)
            tables.names = tableAt<const char*>(library, address);
        else if (entry->d_tag == DT_GNU_HASH)
            tables.gnuHash = tableAt<const std::uint32_t*>(library, address);
        else if (entry->d_tag == DT_HASH)
            tables.plainHash = tableAt<const std::uint32_t*>(library, address);
    }
    return tables;
}

void* addressOf(const link_map& library, const Tables& tables, std::uint32_t index,
                const char* name) {
    const ElfW(Sym)& symbol = tables.symbols[index];
    if (symbol.st_shndx == SHN_UNDEF || !isSameText(tables.names + symbol.st_name, name))
        return nullptr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ELF has addresses
    return reinterpret_cast<void*>(library.l_addr + symbol.st_value);
}

void* findByGnuHash(const link_map& library, const Tables& tables, const char* name) {
    std::uint32_t hash = 5381;
    for (const char* c = name; *c != '\0'; ++c)
        hash = hash * 33 + static_cast<unsigned char>(*c);
    // The header: number of buckets, first hashed symbol, number of filter words (each the size of
    // an address), and shift of the filter.
    const std::uint32_t* header = tables.gnuHash;
    const std::uint32_t bucketCount = header[0];
    const std::uint32_t first = header[1];
    const std::uint32_t* buckets =
        header + 4 + header[2] * (sizeof(Address) / sizeof(std::uint32_t));
    const std::uint32_t* chain = buckets + bucketCount;
    if (bucketCount == 0 || buckets[hash % bucketCount] < first)
        return nullptr;
    for (std::uint32_t index = buckets[hash % bucketCount];; ++index) {
        const std::uint32_t candidate = chain[index - first];
        if ((candidate | 1U) == (hash | 1U)) {
            if (void* address = addressOf(library, tables, index, name))
                return address;
        }
        if ((candidate & 1U) != 0) // end of the chain
            return nullptr;
    }
}

void* findByPlainHash(const link_map& library, const Tables& tables, const char* name) {
    std::uint32_t hash = 0;
    for (const char* c = name; *c != '\0'; ++c) {
        hash = (hash << 4U) + static_cast<unsigned char>(*c);
        const std::uint32_t high = hash & 0xF0000000U;
        hash = (hash ^ (high >> 24U)) & ~high;
    }
    const std::uint32_t bucketCount = tables.plainHash[0];
    const std::uint32_t* buckets = tables.plainHash + 2;
    const std::uint32_t* chain = buckets + bucketCount;
    if (bucketCount == 0)
        return nullptr;
    for (std::uint32_t index = buckets[hash % bucketCount]; index != STN_UNDEF;
         index = chain[index]) {
        if (void* address = addressOf(library, tables, index, name))
            return address;
    }
    return nullptr;
}

} // namespace

bool isSameText(const char* one, const char* other) {
    while (*one != '\0' && *one == *other) {
        ++one;
        ++other;
    }
    return *one == *other;
}

void* findSymbol(const link_map& library, const char* name) {
    const Tables tables = readTables(library);
    if (tables.symbols == nullptr || tables.names == nullptr)
        return nullptr;
    if (tables.gnuHash != nullptr)
        return findByGnuHash(library, tables, name);
    return tables.plainHash != nullptr ? findByPlainHash(library, tables, name) : nullptr;
}

} // namespace genv::shims

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/shell/file_reader.hpp"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace genv::service {

namespace {

constexpr const char* attributeName = "system.posix_acl_access";

/// The attribute's format, a list that is sorted by tag.
struct AccessList {
    posix_acl_xattr_header header;
    std::array<posix_acl_xattr_entry, 5> entries;
};

constexpr auto nobody = static_cast<std::uint32_t>(ACL_UNDEFINED_ID);

posix_acl_xattr_entry entry(int tag, int permissions, std::uint32_t id = nobody) {
    return {htole16(static_cast<std::uint16_t>(tag)),
            htole16(static_cast<std::uint16_t>(permissions)), htole32(id)};
}

} // namespace

int setReader(int file, const FileReader& reader) {
    const bool isUser = reader && *reader != 0;
    if (!isUser)
        return ::fchmod(file, reader ? 0600 : 0644) < 0 ? errno : 0;
    const AccessList list{{htole32(POSIX_ACL_XATTR_VERSION)},
                          {entry(ACL_USER_OBJ, ACL_READ | ACL_WRITE),
                           entry(ACL_USER, ACL_READ, *reader), entry(ACL_GROUP_OBJ, 0),
                           entry(ACL_MASK, ACL_READ), entry(ACL_OTHER, 0)}};
    return ::fsetxattr(file, attributeName, &list, sizeof list, 0) < 0 ? errno : 0;
}

FileReader readerOf(int file) {
    struct stat status {};
    if (::fstat(file, &status) < 0 || (status.st_mode & S_IROTH) != 0)
        return std::nullopt;
    AccessList list{};
    const ssize_t size = ::fgetxattr(file, attributeName, &list, sizeof list);
    if (size == static_cast<ssize_t>(sizeof list)) {
        for (const posix_acl_xattr_entry& each : list.entries) {
            if (le16toh(each.e_tag) == ACL_USER)
                return le32toh(each.e_id);
        }
    }
    return 0;
}

} // namespace genv::service

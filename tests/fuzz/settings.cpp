// SPDX-License-Identifier: LGPL-2.1-or-later
// genvd.conf: any file is accepted as a whole, or refused with a sentence that can be printed.
#include "core/base/error.hpp"
#include "service/settings/settings_file.hpp"
#include "tests/fuzz/target.hpp"

namespace genv::fuzz::settings {

GENV_FUZZ_TARGET(settings) {
    static const ForeignFile file;
    file.fill(input);
    core::Settings settings;
    try {
        service::readSettingsFile(file.path(), settings);
    } catch (const core::Error& error) {
        expectShowable(error.what(), "why a configuration is refused can be shown");
        return;
    }
    using std::chrono::milliseconds;
    expect(settings.interval > milliseconds{0}, "the rules' interval is a time");
    expect(settings.grace >= milliseconds{0} && settings.killAfter >= milliseconds{0},
           "no time is negative");
    expect(settings.maxWait > milliseconds{0} && settings.keepFor >= milliseconds{0},
           "nobody waits for ever");
    const core::UserInfo user{1001, "alice", {1101, 1103}};
    const core::Limits limits = settings.limits.of(user);
    expect(!limits.maxLifetime || *limits.maxLifetime > milliseconds{0}, "a lifetime is a time");
    core::Settings again;
    service::readSettingsFile(file.path(), again);
    expect(again == settings, "a configuration means the same each time it is read");
}

} // namespace genv::fuzz::settings

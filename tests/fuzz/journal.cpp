// SPDX-License-Identifier: LGPL-2.1-or-later
// Records of the journal, as FIELD=VALUE lines. A record is rejected, or the bus can carry its
// event completely.
#include "dbus/manager/event_rows.hpp"
#include "service/journal/event_row.hpp"
#include "tests/fuzz/plain_message.hpp"
#include "tests/fuzz/target.hpp"

namespace genv::fuzz::journal {

GENV_FUZZ_TARGET(journal) {
    service::journal::Fields fields;
    for (const std::string_view line : linesIn(input)) {
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos &&
            service::journal::isOfInterest(line.substr(0, equals)))
            fields.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    auto row = service::journal::toRow(fields);
    if (!row)
        return;
    row->cursor = "s=1";
    expect(service::journal::sizeOf(*row) >= row->message.size(), "an event has its size");
    sdbus::PlainMessage message = tests::messageWith(dbus::EventRows{{*row}});
    std::vector<std::map<std::string, sdbus::Variant>> delivered;
    message >> delivered;
    expect(delivered.size() == 1 && delivered[0].contains("message") &&
               delivered[0].at("message").get<std::string>() == row->message,
           "an event arrives as it is");
}

} // namespace genv::fuzz::journal

// SPDX-License-Identifier: LGPL-2.1-or-later
// The lines between genvd and genv-park. A line is refused, or it is read as it was written.
#include "service/park/park_protocol.hpp"
#include "tests/fuzz/target.hpp"

namespace genv::fuzz::park {

GENV_FUZZ_TARGET(park) {
    for (const std::string_view line : linesIn(input)) {
        try {
            const auto request = service::decodeParkRequest(line);
            const std::string written = service::encodeParkRequest(request);
            expect(written.size() < service::maxParkRequest, "a request fits into its limit");
            expect(service::encodeParkRequest(service::decodeParkRequest(written)) == written,
                   "a request is read as it was written");
            expect(service::parkDeadline(request) <= std::chrono::minutes{15},
                   "each request has a deadline");
        } catch (const service::ParkProtocolError& error) {
            expectShowable(error.what(), "why a request is refused can be shown");
        }
        try {
            const std::string written = service::encodeParkAnswer(service::decodeParkAnswer(line));
            expectShowable(written, "an answer can be shown");
            expect(service::encodeParkAnswer(service::decodeParkAnswer(written)) == written,
                   "an answer is read as it was written");
        } catch (const service::ParkProtocolError& error) {
            expectShowable(error.what(), "why an answer is refused can be shown");
        }
    }
}

} // namespace genv::fuzz::park

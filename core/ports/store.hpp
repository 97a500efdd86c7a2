// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: where the state documents are kept, one per environment. A write is all or nothing at any
// instant: after a crash a reader finds the old document or the new one.
#pragma once

#include "core/environment.hpp"

#include <string>
#include <vector>

namespace genv::core {

class Store {
  public:
    /// A document as found, and the name to set it aside under when it cannot be read.
    struct Found {
        std::string name;
        std::string text;
    };

    virtual ~Store() = default;

    /// Replaces or adds an environment's document. Throws Error(StorageFailed); the old one is then
    /// in force.
    virtual void write(const EnvironmentId& id, const std::string& document) = 0;

    /// Removes an environment's document; one that is not there is fine. Throws
    /// Error(StorageFailed).
    virtual void remove(const EnvironmentId& id) = 0;

    /// Every document, in no order. What cannot be read is set aside by the adapter.
    virtual std::vector<Found> readAll() = 0;

    /// The name that an environment's document has.
    [[nodiscard]] virtual std::string nameOf(const EnvironmentId& id) const = 0;

    /// Moves a document that makes no sense out of the way and keeps it for a person to look at.
    virtual void setAside(const std::string& name, const std::string& why) = 0;
};

} // namespace genv::core

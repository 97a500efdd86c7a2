// SPDX-License-Identifier: LGPL-2.1-or-later
// Port: the storage of the state documents, one per environment. Writes are atomic: after a crash a
// reader finds either the old document or the new one.
#pragma once

#include "core/model/environment.hpp"

#include <string>
#include <vector>

namespace genv::core {

class Store {
  public:
    /// A document from the store, with the name under which it can be set aside if it is invalid.
    struct Found {
        std::string name;
        std::string text;
    };

    virtual ~Store() = default;

    /// Adds or replaces the document of an environment. Throws Error(StorageFailed); the old
    /// document is then still in force.
    virtual void write(const EnvironmentId& id, const std::string& document) = 0;

    /// Removes the document of an environment; a missing document is no error. Throws
    /// Error(StorageFailed).
    virtual void remove(const EnvironmentId& id) = 0;

    /// Returns every document, in no particular order. The adapter sets unreadable documents aside.
    virtual std::vector<Found> readAll() = 0;

    /// Returns the name of an environment's document.
    [[nodiscard]] virtual std::string nameOf(const EnvironmentId& id) const = 0;

    /// Moves an invalid document out of the way, and keeps it for inspection by a person.
    virtual void setAside(const std::string& name, const std::string& why) = 0;
};

} // namespace genv::core

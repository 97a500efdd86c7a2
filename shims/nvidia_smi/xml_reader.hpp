// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses XML incrementally with expat, and keeps its original spelling.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct XML_ParserStruct;

namespace genv::shims::nvidia_smi {

/// A tag, or a piece of text between tags.
struct XmlEvent {
    enum class Kind { Start, End, Text };

    Kind kind = Kind::Text;
    std::string text; ///< original spelling; empty for the end of an element with a single tag
    std::string name; ///< of the element that starts or ends
    std::string id;   ///< the id attribute of an element that starts
};

/// Parses consecutive documents, without loading anything that a document refers to. A user chooses
/// the names of processes, and nvidia-smi may print them unescaped. Therefore a name is read as
/// text up to its closing tag, and bytes are decoded as ISO 8859-1, because they need not be UTF-8.
class XmlReader {
  public:
    XmlReader();
    XmlReader(const XmlReader&) = delete;
    XmlReader& operator=(const XmlReader&) = delete;
    ~XmlReader();

    /// Returns the events that this line completes. The texts of all events together are the input.
    /// A line outside a document starts one, and a document ends with the line in which its
    /// outermost element ends.
    std::vector<XmlEvent> read(std::string_view line);

    [[nodiscard]] bool isInDocument() const { return parser_ != nullptr; }
    /// Returns the reason why parsing has failed; empty if all input was well-formed.
    [[nodiscard]] const std::string& failure() const { return failure_; }

  private:
    // The callbacks of expat.
    struct Handlers;
    struct Free {
        void operator()(XML_ParserStruct* parser) const;
    };

    void begin();
    std::string withoutMarkupInNames(std::string_view line);
    void parse(std::string_view text, bool isLast);
    void add(XmlEvent event);
    void refuse(const char* reason);

    std::unique_ptr<XML_ParserStruct, Free> parser_; // of the current document
    std::string pending_;                            // read before this line, but in no event
    std::size_t pendingBegin_ = 0;                   // its position in the document
    std::size_t taken_ = 0;                          // number of its bytes that are in events
    std::size_t depth_ = 0;
    bool hasEnded_ = false;
    bool isInName_ = false; // within a process name
    std::vector<XmlEvent> events_;
    std::string failure_;
};

} // namespace genv::shims::nvidia_smi

// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading XML by expat as it comes, without losing how it was written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct XML_ParserStruct;

namespace genv::shims::nvidia_smi {

/// A tag, or a piece of what stands between tags.
struct XmlEvent {
    enum class Kind { Start, End, Text };

    Kind kind = Kind::Text;
    std::string text; ///< as it was written; empty for the end of an element that is one tag
    std::string name; ///< of the element that starts or ends
    std::string id;   ///< the attribute of that name where an element starts
};

/// Reads documents that follow one another, and loads nothing that a document refers to. The name
/// of a process is whatever its user chose, and nvidia-smi may print it as it is: it is read as
/// text up to the tag that ends it, and bytes are taken as ISO 8859-1, since it need not be UTF-8.
class XmlReader {
  public:
    XmlReader();
    XmlReader(const XmlReader&) = delete;
    XmlReader& operator=(const XmlReader&) = delete;
    ~XmlReader();

    /// What this line completes; the texts of all events together are what was read. A line outside
    /// of a document begins one, and the line in which the outermost element ends ends it.
    std::vector<XmlEvent> read(std::string_view line);

    [[nodiscard]] bool isInDocument() const { return parser_ != nullptr; }
    /// Why nothing can be read any more; empty while all was well-formed.
    [[nodiscard]] const std::string& failure() const { return failure_; }

  private:
    // What expat calls.
    struct Handlers;
    struct Free {
        void operator()(XML_ParserStruct* parser) const;
    };

    void begin();
    std::string withoutMarkupInNames(std::string_view line);
    void parse(std::string_view text, bool isLast);
    void add(XmlEvent event);
    void refuse(const char* reason);

    std::unique_ptr<XML_ParserStruct, Free> parser_; // of the document that is being read
    std::string pending_;                            // read, and not in events before this line
    std::size_t pendingBegin_ = 0;                   // where that lies in the document
    std::size_t taken_ = 0;                          // how much of it is in events
    std::size_t depth_ = 0;
    bool hasEnded_ = false;
    bool isInName_ = false; // of a process
    std::vector<XmlEvent> events_;
    std::string failure_;
};

} // namespace genv::shims::nvidia_smi

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shims/nvidia_smi/xml_reader.hpp"

#include <expat.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace genv::shims::nvidia_smi {

namespace {

// Larger than any tag, comment or depth in a report. Needed because expat buffers unfinished
// tokens.
constexpr std::size_t maxTokenSize = 1U << 20U;
constexpr std::size_t deepestElement = 100;

constexpr std::string_view nameBegin = "<process_name>";
constexpr std::string_view nameEnd = "</process_name>";

bool isMarkup(char character) {
    const bool isControl = static_cast<unsigned char>(character) < ' ';
    return character == '<' || character == '>' || character == '&' ||
           (isControl && character != '\t' && character != '\n' && character != '\r');
}

// Returns the start of the current event. Newer versions of expat use 64-bit positions and declare
// the older functions as deprecated.
template <typename Parser>
std::size_t positionIn(Parser parser) {
    if constexpr (requires { XML_GetCurrentByteIndex64(parser); })
        return static_cast<std::size_t>(XML_GetCurrentByteIndex64(parser));
    else
        return static_cast<std::size_t>(XML_GetCurrentByteIndex(parser));
}

template <typename Parser>
std::size_t sizeIn(Parser parser) {
    if constexpr (requires { XML_GetCurrentByteCount64(parser); })
        return static_cast<std::size_t>(XML_GetCurrentByteCount64(parser));
    else
        return static_cast<std::size_t>(XML_GetCurrentByteCount(parser));
}

} // namespace

// C code calls these functions, so no exception may escape.
struct XmlReader::Handlers {
    static XmlReader& reader(void* data) { return *static_cast<XmlReader*>(data); }

    static void start(void* data, const char* name, const char** attributes) noexcept {
        XmlEvent event{XmlEvent::Kind::Start, {}, name, {}};
        for (; *attributes != nullptr; attributes += 2) {
            if (std::string_view(attributes[0]) == "id")
                event.id = attributes[1];
        }
        reader(data).add(std::move(event));
        if (++reader(data).depth_ > deepestElement)
            reader(data).refuse("elements are nested too deeply");
    }

    static void end(void* data, const char* name) noexcept {
        reader(data).add({XmlEvent::Kind::End, {}, name, {}});
        reader(data).hasEnded_ = --reader(data).depth_ == 0;
    }

    static void text(void* data, const char* /*text*/, int /*size*/) noexcept {
        reader(data).add({});
    }

    static void entity(void* data, const char* /*name*/, int /*isParameter*/, const char* /*value*/,
                       int /*size*/, const char* /*base*/, const char* /*systemId*/,
                       const char* /*publicId*/, const char* /*notation*/) noexcept {
        reader(data).refuse("entity declared");
    }
};

void XmlReader::Free::operator()(XML_ParserStruct* parser) const {
    XML_ParserFree(parser);
}

XmlReader::XmlReader() = default;
XmlReader::~XmlReader() = default;

std::vector<XmlEvent> XmlReader::read(std::string_view line) {
    if (!failure_.empty())
        return {};
    if (!isInDocument())
        begin();
    parse(line, false);
    if (hasEnded_ && failure_.empty()) {
        parse({}, true);
        parser_.reset();
    }
    return std::exchange(events_, {});
}

void XmlReader::begin() {
    parser_.reset(XML_ParserCreate("ISO-8859-1"));
    if (parser_ == nullptr)
        throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), Handlers::start, Handlers::end);
    XML_SetDefaultHandler(parser_.get(), Handlers::text);
    XML_SetEntityDeclHandler(parser_.get(), Handlers::entity);
    pending_.clear();
    pendingBegin_ = 0;
    taken_ = 0;
    depth_ = 0;
    hasEnded_ = false;
    isInName_ = false;
}

// Keeps the number of bytes unchanged, so that the parser's positions match the input.
std::string XmlReader::withoutMarkupInNames(std::string_view line) {
    std::string text(line);
    for (std::size_t at = 0;;) {
        if (!isInName_) {
            at = text.find(nameBegin, at);
            if (at == std::string::npos)
                return text;
            at += nameBegin.size();
        }
        const std::size_t end = std::min(text.find(nameEnd, at), text.size());
        std::replace_if(text.begin() + static_cast<std::ptrdiff_t>(at),
                        text.begin() + static_cast<std::ptrdiff_t>(end), isMarkup, 'x');
        isInName_ = end == text.size();
        if (isInName_)
            return text;
        at = end;
    }
}

void XmlReader::parse(std::string_view text, bool isLast) {
    pending_ += text;
    const std::string parsed = withoutMarkupInNames(text);
    const XML_Status status =
        XML_Parse(parser_.get(), parsed.data(), static_cast<int>(parsed.size()),
                  isLast ? XML_TRUE : XML_FALSE);
    if (status != XML_STATUS_OK && failure_.empty())
        failure_ = XML_ErrorString(XML_GetErrorCode(parser_.get()));
    pending_.erase(0, taken_);
    pendingBegin_ += std::exchange(taken_, 0);
    if (isLast && !pending_.empty())
        events_.push_back({XmlEvent::Kind::Text, pending_, {}, {}});
    if (pending_.size() > maxTokenSize)
        refuse("unterminated tag or comment");
}

// Bytes before the current event belong to constructs without a handler.
void XmlReader::add(XmlEvent event) {
    const auto position = positionIn(parser_.get());
    const auto size = sizeIn(parser_.get());
    const std::size_t begin = position - pendingBegin_;
    if (begin > taken_)
        events_.push_back({XmlEvent::Kind::Text, pending_.substr(taken_, begin - taken_), {}, {}});
    event.text = pending_.substr(begin, size);
    events_.push_back(std::move(event));
    taken_ = begin + size;
}

void XmlReader::refuse(const char* reason) {
    if (failure_.empty())
        failure_ = reason;
    XML_StopParser(parser_.get(), XML_FALSE);
}

} // namespace genv::shims::nvidia_smi

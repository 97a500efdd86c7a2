#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The documents are plain English, as far as patterns can check: no phrases to avoid, no clauses without a noun, no
abbreviation without an explanation. Each fault is listed with its file and line.

usage: words_test.py SOURCE [--measure [FILE]...]    (--measure: words in a sentence, on average)
"""

import pathlib
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

from markdown import Page, pages, prose  # noqa: E402

# Phrases to avoid, and the replacement for each.
PHRASES = {
    r"owns the truth|owns who": "decides who holds which GPU",
    r"\bone's\b|\boneself\b": "your, a user's",
    r"\bso many\b": "N",
    r"\bis no (?:option|such)\b": "unknown option",
    r"\b(?:is|are) none of\b": "does not belong to",
    r"\bmakes? no sense\b": "is invalid",
    r"\bsomething is done about\b": "the rules act on",
    r"\bwith consent\b": "approved",
    r"\bpatience\b": "timeout",
    r"\bwhat becomes? of\b|\bwhat came of\b": "what happens to",
    r"\b(?:is|are|was|were) told of\b|\btells? of\b|\btold of\b": "reports",
    r"\bsays? (?:so|it) by itself\b": "",
    r"\btakes? also\b": "shares",
    r"\bend(?:s|ed)? later\b": "extend the lease",
    r"\bmore (?:wanted|than there are)\b": "requested",
    r"\bas (?:many|much) as one likes\b": "any number",
    r"\b(?:somebody|anybody|everybody|nobody|others) else's\b": "another user's",
    r"\b(?:everybody|somebody|anybody|nobody)'s\b": "of all users, of a user",
    r"\bhow(?:ever)? it (?:dies|ends), it\b": "",
    r"\bfor ever\b": "forever",
    r"\bis (?:polkit|the journal|the administrator)'s (?:business|matter)\b": "polkit decides",
    r"\bto be had\b": "available",
    r"\bwhat is (?:attached|given|wanted|held|kept|left out)\b": "a noun",
    r"\ball the same\b": "still",
    r"\bh[oe]lds? up\b": "blocks, delays",
    r"\b(?:fails?|ends?|refuses?|stops?|succeeds?) where\b(?! it is\b)": "if",
    r"\bgo(?:es)? around\b": "bypasses",
    r"\bin the place of\b": "in place of",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"(?<!where it )(?<!who )\b(?:is|are) (?:not )?there\b": "exists, runs",
    r"\bthere no more\b|\bno more there\b": "gone",
    r"\bfor good\b": "permanently",
    r"\bin vain\b": "without success",
    r"\bcannot (?:stand|be had)\b": "cannot own, cannot contain",
    r"\b(?:is|are|was|were) told\b(?! to\b)": "learns",
    r"\bnot let in\b": "refused",
    r"\b(?:is|are) tried again\b": "trying again",
    r"\b\w+ of (?:Slurm|genv|root|docker|podman|polkit|systemd)'s(?=[.,;:]|$| (?:and|in|on|or|that)\b)": "of Slurm",
}
# Longer sentences must be split. One idea is enough for a sentence.
LONGEST = 33
BEFORE_CLAUSE = "of|for|from|by|to|with|than|beside|without|on|in|at|about|around|behind|after|before|between|under|over"
CLAUSES = {
    r"(?:(?<=^)|(?<=[.:;] ))(?:Who|Whom|Whose|Whoever|What|Whatever|Whichever)\b[^.?!]*(?:[.!:]|$)(?!\?)":
        "a clause without a noun at the beginning of a sentence",
    r"\b(?:[Ww]hoever|[Ww]homever|[Ww]hosoever)\b": "\"whoever\": name the user, the process, the caller",
    rf"\b(?:{BEFORE_CLAUSE}) (?:who|what)\b(?! to\b| happen)": "a clause without a noun after a preposition",
    r"\b(?:is|are) (?:who|what|whoever|whatever)\b": "a clause without a noun as a predicate",
}
# Abbreviations that readers of these documents know. Others are explained at their first use: "NVML (NVIDIA Management
# Library)".
KNOWN = set("""
    API ASCII CPU CSV CUDA GNU GPU HTTP HTTPS ID IP IPC JSON KB MB GB KIB MIB GIB LGPL NVIDIA OK OS PCI PDF PID PNG RAM SDK SPDX SSH SVG TCP
    TLS UID UTC UTF UUID VM XML YAML IDE URL CI DIR FILE AND NOT OR NAME AMD EOF NEWS README CONTRIBUTING LICENSE XX YYYY MM DD HH SS
    LDAP SSSD NFS PAM PATH POSIX XDG SQL RSA KVM GCC FD GNOME KDE RHEL COPR RPM DEB A100 USER
""".split())
ERRORS = re.compile(r"E[A-Z]{3,}|SIG[A-Z]+")
ABBREVIATION = re.compile(r"(?<![\w./-])([A-Z]{2,6})(?=s?\b)(?![\w./-]*[_=])")


def explained(abbreviation, text):
    """Returns whether the text explains an abbreviation: in brackets after it, or with the abbreviation in brackets
    after the words."""
    return re.search(rf"\b{abbreviation}s?(?: \w+)?\)?,? \((?!\d)[^)]+\)|\({abbreviation}s?\)|{abbreviation}s?(?:,| is) (?:the |NVIDIA's |an? )", text)


def sentences(text):
    """Yields the sentences of a paragraph."""
    flat = re.sub(r"\s+", " ", prose(text)).strip()
    yield from re.split(r"(?<=[^.\s][.?!])[\"')]*\s+(?=\S)", flat)


def words_of(sentence):
    return re.findall(r"[\w'/=.<>@:-]*\w[\w'/=.<>@:-]*", sentence)


def faults_of(page, root):
    name, found = page.path.relative_to(root), []
    for number, comment in page.comments():
        found += [f'{name}:{number}: "{match[0]}": write {instead or "it otherwise"}'
                  for pattern, instead in PHRASES.items() for match in re.finditer(pattern, comment, re.I)]
    for number, text in page.paragraphs():
        if not text.lstrip().startswith(("|", "#", "<", "!")):
            found += [f"{name}:{number}: a sentence of {len(words_of(sentence))} words: {sentence[:60]}..."
                      for sentence in sentences(text) if len(words_of(sentence)) > LONGEST]
    whole = re.sub(r"\s+", " ", "\n".join(prose(text) for _, text in page.paragraphs()))
    seen = set()
    for number, text in page.paragraphs():
        cells = [prose(cell.strip()) for cell in re.split(r"(?<!\\)\|", text)] if text.startswith("|") else [prose(text)]
        for cell in cells:
            flat = re.sub(r"\s+", " ", cell).strip()
            for pattern, instead in PHRASES.items():
                found += [f'{name}:{number}: "{match[0]}": write {instead or "it otherwise"}'
                          for match in re.finditer(pattern, flat, re.I)]
            for pattern, what in CLAUSES.items():
                if text.startswith(("|", "#")) and pattern.startswith("(?:(?<=^)"):
                    continue
                found += [f'{name}:{number}: "{match[0][:60]}": {what}' for match in re.finditer(pattern, flat)]
            for match in ABBREVIATION.finditer(flat):
                short = match[1].rstrip("s")
                if short in KNOWN or short in seen or ERRORS.fullmatch(short):
                    continue
                seen.add(short)
                if not explained(short, whole):
                    found.append(f"{name}:{number}: {short}: an abbreviation that is not explained")
    return found


def average(page):
    """Returns the average number of words in a sentence of the page's paragraphs and list items."""
    words = sentences = 0
    for _, text in page.paragraphs():
        if text.startswith(("|", "#", "<", "!")):
            continue
        flat = re.sub(r"\s+", " ", prose(text)).strip()
        for sentence in re.split(r"(?<=[.?!:;])\s+(?=[A-Z(x\"])", flat):
            count = len(re.findall(r"[\w'/-]+", sentence))
            if count > 2:
                words, sentences = words + count, sentences + 1
    return words / sentences if sentences else 0


def main():
    root = pathlib.Path(sys.argv[1])
    if "--measure" in sys.argv:
        chosen = sys.argv[sys.argv.index("--measure") + 1:]
        for page in [Page(path) for path in chosen] or pages(root):
            print(f"{average(page):5.1f} {page.path}")
        return 0
    read = pages(root)
    found = [fault for page in read for fault in faults_of(page, root)]
    print("\n".join(found) if found else f"{len(read)} documents read, nothing found")
    return 1 if found or len(read) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())

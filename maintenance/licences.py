"""``python maintenance/licences.py``: the licences of every distribution in this environment; 1 if one of them is not allowed."""

import re
import sys
from importlib.metadata import distributions

# SPDX names, and what older packages write instead.
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "GCC-exception-3.1", "HPND", "ISC",
    "LGPL-3.0-or-later", "LLVM-exception", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense",
    "WTFPL", "Zlib", "bzip2-1.0.6", "libpng-2.0",
}  # fmt: skip
SPELT = {
    "apache 2.0": "Apache-2.0", "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0", "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0", "apache-2.0": "Apache-2.0", "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause", "3-clause bsd license": "BSD-3-Clause", "bsd 3-clause license": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause", "isc license": "ISC", "isc license (iscl)": "ISC", "mit license": "MIT",
    "the mit license": "MIT", "mozilla public license 2.0": "MPL-2.0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0", "psf": "PSF-2.0", "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "gnu lesser general public license v3 or later (lgplv3+)": "LGPL-3.0-or-later",
    "the unlicense (unlicense)": "Unlicense", "historical permission notice and disclaimer (hpnd)": "HPND",
    "zlib/libpng license": "Zlib", "cc0 1.0 universal (cc0 1.0) public domain dedication": "CC0-1.0",
}  # fmt: skip
# Read by hand where the metadata say nothing, or nothing that a rule can read: name -> licence.
KNOWN = {"docutils": "BSD-2-Clause"}  # the GPL is that of a file for Emacs, which the wheel does not have


def main():
    """Print the table; the exit code says whether every licence is allowed."""
    found = sorted({one.metadata["Name"].lower(): licence(one.metadata) for one in distributions()}.items())
    refused = [name for name, text in found if not allowed(text)]
    for name, text in found:
        print(f"{name:<32} {text}{'   NOT ALLOWED' if name in refused else ''}")
    print(f"{len(found)} distributions, {len(refused)} with a licence that maintenance/licences.py does not allow")
    return 1 if refused else 0


def licence(metadata):
    """The licence as an expression of SPDX where the distribution has one, else in its own words."""
    name = metadata["Name"].lower()
    if name in KNOWN:
        return KNOWN[name]
    if metadata.get("License-Expression"):
        return metadata["License-Expression"]
    words = [one.split(" :: ")[-1] for one in metadata.get_all("Classifier", []) if one.startswith("License ::")]
    words = [one for one in words if one != "OSI Approved"]
    text = (metadata.get("License") or "").strip()
    if not words and text and "\n" not in text and len(text) < 80:
        words = [text]
    return " AND ".join(SPELT.get(one.lower(), one) for one in words) or "unknown"


def allowed(expression):
    """Whether every part of an expression is allowed, or one of those that are offered as a choice (OR)."""
    return any(
        all(part in ALLOWED for part in re.split(r" AND | WITH ", choice) if part) for choice in split(expression)
    )


def split(expression):
    """The choices of an expression, without brackets; one whose brackets hold a choice is read as needing all of it."""
    if re.search(r"\([^)]* OR ", expression):
        expression = expression.replace(" OR ", " AND ")
    return re.sub(r"[()]", "", expression).split(" OR ")


if __name__ == "__main__":
    sys.exit(main())

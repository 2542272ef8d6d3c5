"""What stands in place of a secret, and passwords in texts where nobody would look for one."""

from __future__ import annotations

import re

MASK = "***"
# Up to the last @ before a blank or a quote, for a password may hold one as it is. Bounded and never taken back: the
# text may be anybody's, and each of many beginnings would else be searched to the end of it.
_PASSWORD_IN_URI = re.compile(r"""(:/{1,2}+[^\s:/@"']{0,100}+):(?:[^\s"'@]{0,300}+@)++""")


def without_uri_passwords(text: str) -> str:
    """The text with what stands between user and host of each URI replaced by ***."""
    return _PASSWORD_IN_URI.sub(rf"\1:{MASK}@", text)

"""Write the lists of api.md and commands.md: ``python docs/make_reference.py [--check]``."""

from __future__ import annotations

import made_pages
import reference_pages

if __name__ == "__main__":
    made_pages.write(__file__, "api.md", reference_pages.api_list())
    made_pages.write(__file__, "commands.md", reference_pages.command_list())

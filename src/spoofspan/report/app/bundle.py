"""Modules of JavaScript as one script, without a tool of Node: every module becomes a function that runs once.

Only the forms that the page's own modules use are known: ``import { a, b as c } from "./other.js"`` and exported
declarations. Anything else is an error, not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_DOCUMENTATION = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)


def bundled(entry: str, modules: Mapping[str, str]) -> str:
    r"""Write a module and all that it imports as one script.

    Parameters
    ----------
    entry
        The name of the module that runs last.
    modules
        The text of every module by its name.

    Examples
    --------
    >>> modules = {"a.js": 'import { two } from "./b.js";\nf(two);\n', "b.js": "export const two = 2;\n"}
    >>> print(bundled("a.js", modules))
    (() => {
    "use strict";
    const $b = (() => {
    const two = 2;
    return { two };
    })();
    const { two } = $b;
    f(two);
    })();

    """
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...] = ()) -> None:
        if name in path:
            raise ValueError(f"modules import each other: {' -> '.join((*path, name))}")
        for found in _IMPORT.finditer(modules[name]):
            visit(found[2], (*path, name))
        if name not in order:
            order.append(name)

    visit(entry)
    texts = [_function(name, modules[name]) for name in order[:-1]]
    return "\n".join(["(() => {", '"use strict";', *texts, _body(modules[entry])[0].strip(), "})();"])


def _function(name: str, text: str) -> str:
    """A module as a function that returns its exports."""
    body, exports = _body(text)
    return f"const ${name.removesuffix('.js')} = (() => {{\n{body.strip()}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _body(text: str) -> tuple[str, list[str]]:
    exports = [found[2] for found in _EXPORT.finditer(text)]
    body = _IMPORT.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = ${found[2][:-3]};", text)
    body = _DOCUMENTATION.sub("", _EXPORT.sub(r"\1", body))
    if other := _OTHER.search(body):
        raise ValueError(f"this form of import or export is not known: {other[0]}")
    return body, exports

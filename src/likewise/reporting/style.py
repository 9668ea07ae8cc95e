"""The look of the report: one palette for figures and page, light and dark, and the page's style sheet."""

from __future__ import annotations

# No two colours of LIGHT are equal: a figure is drawn in them, and on the page each becomes the variable of its name.
LIGHT = {
    "page": "#f6f7f9",
    "card": "#ffffff",
    "ink": "#1b2430",
    "muted": "#5b6675",
    "rule": "#dde2e9",
    "right": "#2563eb",
    "wrong": "#c2410c",
    "learner-1": "#2562ea",
    "learner-2": "#7a8699",
    "learner-3": "#0b8a7d",
    "learner-4": "#a16207",
    "learner-5": "#8b3fd9",
}
DARK = {
    "page": "#10141a",
    "card": "#181e27",
    "ink": "#e8ecf2",
    "muted": "#9aa6b6",
    "rule": "#2d3642",
    "right": "#5b8ff9",
    "wrong": "#ff8a4c",
    "learner-1": "#6b9bff",
    "learner-2": "#98a4b5",
    "learner-3": "#2fc4b2",
    "learner-4": "#e0a63a",
    "learner-5": "#bb8cf5",
}


def learner_colour(position: int) -> str:
    """The palette's name for the colour of a learner, by its place in the report; the sixth starts over.

    >>> learner_colour(0), learner_colour(5)
    ('learner-1', 'learner-1')
    """
    return f"learner-{position % 5 + 1}"


def _variables(palette: dict[str, str]) -> str:
    channels = {name: " ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5)) for name, colour in palette.items()}
    return "".join(f"--{name}:{colour};" for name, colour in palette.items()) + "".join(
        f"--{name}-rgb:{channels[name]};" for name in ("right", "wrong")
    )


STYLE_SHEET = (
    f":root{{color-scheme:light dark;{_variables(LIGHT)}}}\n"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}\n"
    """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
 "Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:64rem;margin:0 auto;padding:3.5rem 1.5rem 2rem}
h1{font-size:clamp(1.75rem,1.2rem + 2.4vw,2.6rem);line-height:1.15;letter-spacing:-.02em;margin:0 0 1rem;
 text-wrap:balance}
h2{font-size:1.3rem;line-height:1.3;letter-spacing:-.01em;margin:0 0 .35rem}
h3{font-size:1rem;margin:0}
p{margin:0 0 .75rem;text-wrap:pretty}
ul{list-style:none;margin:0;padding:0}
figure{margin:0}
header p{max-width:44rem;font-size:1.08rem;color:var(--muted)}
section{margin-top:3rem}
.about{max-width:44rem;color:var(--muted);margin-bottom:1.1rem}
.panel{background:var(--card);border:1px solid var(--rule);border-radius:12px;padding:1.25rem}
.note,footer{color:var(--muted);font-size:.875rem}
.note{margin:.9rem 0 0}
footer{margin-top:3.5rem;padding-top:1rem;border-top:1px solid var(--rule)}

.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(13.5rem,1fr));gap:1rem;margin-top:2rem}
.card{background:var(--card);border:1px solid var(--rule);border-radius:12px;padding:1rem 1.25rem;max-width:22rem}
.card h2{font-size:.9rem;line-height:1.4;font-weight:600;letter-spacing:0;margin:0}
.card .value{font-size:2.1rem;line-height:1.3;font-weight:650;letter-spacing:-.02em;margin:0 0 .15rem;
 white-space:nowrap}
.card small{font-size:1rem;font-weight:500;letter-spacing:0;color:var(--muted)}
.card .detail{font-size:.82rem;line-height:1.45;color:var(--muted);margin:.15rem 0 0}
.dot{display:inline-block;width:.65em;height:.65em;border-radius:50%;margin-right:.45em;background:var(--learner-1)}
.dot.learner-2{background:var(--learner-2)}.dot.learner-3{background:var(--learner-3)}
.dot.learner-4{background:var(--learner-4)}.dot.learner-5{background:var(--learner-5)}

.drawing{display:block;width:100%;height:auto}
.drawing *{stroke-linejoin:round;stroke-linecap:butt}
.narrow{display:none}
.scroll{overflow-x:auto}
.matrix{border-collapse:separate;border-spacing:2px;margin:0 auto}
.matrix th{font-weight:600;font-size:.875rem;padding:.2rem .5rem;white-space:nowrap}
.matrix .axis{font-weight:400;color:var(--muted)}
.matrix tbody th{text-align:right}
.matrix tbody th span{font-weight:400;color:var(--muted)}
.matrix thead th.long{writing-mode:vertical-rl;transform:rotate(180deg);padding:.4rem .2rem;text-align:left;
 margin:0 auto}
.matrix td{min-width:2.9rem;height:2.3rem;padding:0 .3rem;text-align:center;border-radius:5px;font-size:.9rem}
.matrix td.right{background:rgb(var(--right-rgb)/calc(.04 + var(--share)*.38));font-weight:650}
.matrix td.wrong{background:rgb(var(--wrong-rgb)/calc(.1 + var(--share)*.5))}
.matrix td.zero{color:var(--muted);opacity:.75}
.matrix tr.unmatched th{font-style:italic}

.legend{display:flex;flex-wrap:wrap;gap:.4rem 1.4rem;font-size:.875rem;color:var(--muted);margin:0 0 1rem}
.legend li{display:flex;align-items:center;gap:.5rem}
.swatch{width:1.1rem;height:1.1rem;border-radius:4px}
.swatch.right{background:rgb(var(--right-rgb)/.42)}
.swatch.wrong{background:rgb(var(--wrong-rgb)/.4)}
.swatch.mistake{border:3px solid var(--wrong)}

.found{display:grid;grid-template-columns:9rem 1fr 1fr;gap:.6rem 2rem;align-items:start;padding:.9rem 0 .5rem;
 border-top:1px solid var(--rule)}
.found:first-child{border-top:0;padding-top:0}
.found:last-child{padding-bottom:0}
.found h3{font-size:1.25rem;line-height:1.2;overflow-wrap:anywhere}
.found p{font-size:.82rem;line-height:1.4;color:var(--muted);margin:.1rem 0 0}
.found h4{font-size:.78rem;font-weight:500;color:var(--muted);margin:0 0 .35rem}
.sheet{display:grid;grid-template-columns:repeat(var(--columns),minmax(0,2.75rem));gap:.5rem;min-height:4.1rem;
 align-items:start}
.sheet li{font-size:.75rem;line-height:1.35;text-align:center;color:var(--muted)}
.thumb{display:block;width:100%;aspect-ratio:1;border-radius:5px;object-fit:contain;background:#000}
.thumb.pixels{image-rendering:pixelated}
.mistake .thumb{outline:3px solid var(--wrong);margin-bottom:.3rem}
.sheet .mistake,.mistake{color:var(--wrong);font-weight:600}
.sheet span{display:block;margin-top:.15rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.differ{display:grid;grid-template-columns:repeat(auto-fill,minmax(18.5rem,1fr));gap:1.25rem 2.5rem}
.differ li{display:flex;gap:.9rem;align-items:center}
.differ .thumb{width:4rem;flex:none}
.differ dl,.suspects dl{display:grid;grid-template-columns:auto auto;gap:0 1rem;margin:0;font-size:.875rem;min-width:0}
.differ dt,.suspects dt{color:var(--muted)}
.differ dd,.suspects dd{margin:0;font-weight:600}
.differ .hit span{color:var(--right)}
.suspects{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(16rem,100%),1fr));gap:1.75rem 2.5rem}
.suspects.pictured{grid-template-columns:repeat(auto-fill,minmax(min(26rem,100%),1fr))}
.suspects li{display:flex;gap:1.1rem;align-items:flex-start}
.suspects h3{margin-bottom:.2rem}
.suspects .id{font-weight:400;overflow-wrap:anywhere}
.pair{display:flex;gap:.4rem;flex:none}
.pair .thumb{width:7rem}

.listing{border-collapse:collapse;width:100%;font-size:.9rem;table-layout:fixed}
.listing th,.listing td{text-align:left;vertical-align:top;padding:.55rem 0 .55rem 1.5rem;overflow-wrap:anywhere;
 border-top:1px solid var(--rule)}
.listing th:first-child{padding-left:0;width:22%}
.listing thead th{border-top:0;padding-top:0;font-size:.82rem;font-weight:500;color:var(--muted)}
.listing .number{text-align:right;width:5.5rem}
.figures{table-layout:auto}
.figures th:first-child,.figures .number{width:auto;overflow-wrap:normal}
.figures .number{white-space:nowrap}
.listing small{color:var(--muted);white-space:nowrap}

@media (max-width:44rem){
main{padding:2rem 1rem 1.5rem}
section{margin-top:2.25rem}
.panel{padding:1rem}
.wide{display:none}
.narrow{display:block}
.cards{grid-template-columns:repeat(2,minmax(0,1fr));gap:.75rem}
.card{padding:.8rem .85rem}
.card .value{font-size:1.5rem;line-height:1.2;white-space:normal}
.card small{font-size:.8rem;white-space:nowrap}
.listing{font-size:.82rem}
.listing th,.listing td{padding-left:.75rem}
.listing .number{width:3.4rem}
.matrix{border-spacing:1px}
.matrix td{min-width:1.5rem;height:1.8rem;padding:0;font-size:.78rem;border-radius:3px}
.matrix th{padding:.1rem .25rem;font-size:.78rem}
.matrix tbody th{white-space:normal}
.matrix .word{display:none}
.sheet{min-height:0}
.suspects li{flex-direction:column;gap:.6rem}
.found{grid-template-columns:1fr;gap:.7rem;padding:1.1rem 0}
}
@media print{body{background:none}.panel,.card{break-inside:avoid}}
"""
)

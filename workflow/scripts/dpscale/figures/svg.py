"""How a figure becomes an SVG element of a page."""

import io
import re

from matplotlib.figure import Figure

from dpscale.figures.style import INK


def to_svg(figure: Figure, prefix: str) -> str:
    """Return a figure as an SVG element that can stand inside an HTML page.

    Ids begin with `prefix`, ink is the page's text colour, the ground is transparent, there is no
    global style, date or metadata; the same figure gives the same text.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = text.replace("url(#", f"url(#{prefix}-").replace(INK, "currentColor")
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*</defs>\s*", "", text)
    # The global style that was dropped, and the colour of text drawn as paths.
    return text.replace("<svg ", '<svg stroke-linejoin="round" fill="currentColor" ', 1)

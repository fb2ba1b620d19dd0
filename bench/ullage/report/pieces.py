"""What all pages share: the template environment, the style sheet and charts with their legends."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from ullage.plain import plain
from ullage.report import svg
from ullage.report.charts import PARTS, AnyChart, BarChart, StackChart


@cache
def template(name: str) -> Template:
    """A page's template; every text that is put into it is made plain and escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_clean, trim_blocks=True, lstrip_blocks=True)
    environment.filters["breakable"] = _breakable
    return environment.from_string(_text(name))


def style_sheet() -> Markup:
    """The one style sheet of all pages."""
    return Markup(_text("page.css"))  # noqa: S704 - our own style sheet


def figure(chart: AnyChart) -> dict[str, Any]:
    """A chart as the templates take it: slug, title, caption, picture and legend."""
    parts = chart.parts if isinstance(chart, (BarChart, StackChart)) else ()
    legend = [{"name": name, "swatch": Markup('<i style="background:{}"></i>').format(PARTS[name])} for name in parts]
    return {"slug": chart.slug, "title": chart.title, "caption": chart.caption, "svg": svg.draw(chart), "legend": legend}


def _clean(value: Any) -> Any:
    """Take control characters out of every text that is put into the page; autoescape follows."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(spec: str) -> Markup:
    """A spec that a narrow cell breaks between its parts, not inside a word."""
    parts = re.split(r"(?<=[(,|=])", plain(spec))
    return Markup("<wbr>").join(parts)


def _text(name: str) -> str:
    return files("ullage.report").joinpath(name).read_text(encoding="utf-8")

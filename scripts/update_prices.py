"""Write src/bridle/models/prices.json from the data bundled with the package genai-prices.

    pip install -U genai-prices && python scripts/update_prices.py

Review the diff before it is committed: it changes what budgets mean.
"""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec
from genai_prices.data import providers

from bridle.models.catalog import PROVIDERS
from bridle.models.price_source import convert
from bridle.models.prices import Listed, table

TARGET = Path(__file__).parents[1] / "src/bridle/models/prices.json"


VENDORS = {"mistral": "mistralai"}


def fill_windows(
    provider: str, listed: tuple[Listed, ...], router: tuple[Listed, ...]
) -> tuple[Listed, ...]:
    """Context windows that a provider's rows miss, from OpenRouter's row of the same model."""
    vendor = VENDORS.get(provider, provider)
    windows = {row.id: row.window for row in router if row.window}
    return tuple(
        msgspec.structs.replace(row, window=row.window or windows.get(f"{vendor}/{row.id}"))
        for row in listed
    )


def main() -> None:
    wanted = {p.priced_as: p.name for p in PROVIDERS.values() if p.priced_as}
    rows = {
        wanted[provider.id]: tuple(
            row for info in provider.models if (row := convert(info)) is not None
        )
        for provider in providers
        if provider.id in wanted
    }
    rows = {name: fill_windows(name, listed, rows["openrouter"]) for name, listed in rows.items()}
    source = f"genai-prices {version('genai-prices')}"
    day = datetime.now(UTC).date().isoformat()
    lines = [f'{{"source":"{source}","day":"{day}","providers":{{']
    names = sorted(rows)
    for at, name in enumerate(names):
        body = ",\n".join(msgspec.json.encode(row).decode() for row in rows[name])
        lines.append(f'"{name}":[\n{body}\n]' + ("," if at + 1 < len(names) else ""))
    lines.append("}}")
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert set(table().providers) == set(rows)
    print(f"{TARGET}: {sum(map(len, rows.values()))} models, {TARGET.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()

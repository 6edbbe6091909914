"""The public surface as text, so that a review sees every change of it.

python scripts/public_api.py           # print it
python scripts/public_api.py --write   # write public-api.txt
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import iceberg_spark
from iceberg_spark import errors

FILE = Path(__file__).resolve().parent.parent / "public-api.txt"


def surface() -> str:
    """One line for every exported name, public method, property and error."""
    lines = ["# What users rely on. Written by `make public-api`.", ""]
    for name in sorted(getattr(iceberg_spark, "__all__", ())):
        lines += described(f"iceberg_spark.{name}", getattr(iceberg_spark, name))
    tree = [c for c in vars(errors).values() if isinstance(c, type)]
    for error in sorted(tree, key=lambda c: c.__name__):
        bases = ", ".join(base.__name__ for base in error.__bases__)
        lines.append(f"iceberg_spark.errors.{error.__name__}({bases})")
    return "\n".join(lines) + "\n"


def described(name: str, thing: object) -> Iterator[str]:
    """The lines for one exported thing."""
    if inspect.isclass(thing):
        yield f"{name}: class"
        for member in sorted(m for m in dir(thing) if not m.startswith("_")):
            value = inspect.getattr_static(thing, member)
            if is_ours(thing, member):
                yield from described(f"{name}.{member}", value)
    elif isinstance(thing, classmethod | staticmethod):
        yield from described(name, thing.__func__)
    elif inspect.isfunction(thing):
        yield f"{name}({parameters(thing)})"
    elif inspect.ismodule(thing):
        yield f"{name}: module"
    elif isinstance(thing, property) or inspect.isdatadescriptor(thing):
        yield f"{name}: property"
    else:
        yield f"{name}: value"


def is_ours(owner: type, member: str) -> bool:
    """Whether a class of this project defines the member, rather than a base from elsewhere."""
    definer = next(c for c in owner.__mro__ if member in vars(c))
    return definer.__module__.partition(".")[0] == "iceberg_spark"


def parameters(function: object) -> str:
    """Names, kinds and defaults; types are left to the documentation."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    plain = [
        p.replace(
            annotation=inspect.Parameter.empty,
            default=p.default if p.default is p.empty else Shown(p.default),
        )
        for p in signature.parameters.values()
    ]
    text = str(inspect.Signature(plain))
    return text[1:-1]


class Shown:
    """A default as it is printed: no addresses, so that two runs give one text."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        text = repr(self.value)
        return "..." if " at 0x" in text else text


def main() -> int:
    """Print or write the surface."""
    if sys.argv[1:] == ["--write"]:
        FILE.write_text(surface(), encoding="utf-8")
    else:
        sys.stdout.write(surface())
    return 0


if __name__ == "__main__":
    sys.exit(main())

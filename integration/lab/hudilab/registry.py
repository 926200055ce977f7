"""The list of scenarios, filled by decorating functions."""

import importlib
import pkgutil

from . import env

ALL = []


class Scenario:
    """One table to make: a function of a Table, with version, type and the bundle that writes it."""

    def __init__(self, name, version, kind, bundle, build, base=None):
        self.name, self.version, self.kind, self.bundle, self.build, self.base = name, version, kind, bundle, build, base


def scenario(versions=(6, 8, 9), types=("COW", "MOR"), bundle=None, base=None):
    """Registers a function as one scenario for each table version and type.

    bundle: the engine, where it is not the version's own. base: the name of a golden table (with {v} and {t}) to start from.
    """

    def register(f):
        for v in versions:
            for t in types:
                b = bundle or env.BUNDLE_OF_VERSION[v]
                mark = "" if not bundle else "_by" + b.replace(".", "")
                name = f"{t.lower()}_v{v}{mark}_{f.__name__}"
                start = base and base.format(v=v, t=t.lower())
                ALL.append(Scenario(name, v, t, b, f, start))
        return f

    return register


def load():
    """Imports every module of scenarios; the order of names is the order of making."""
    from . import scenarios

    for m in sorted(x.name for x in pkgutil.iter_modules(scenarios.__path__)):
        importlib.import_module(f"{scenarios.__name__}.{m}")
    names = [s.name for s in ALL]
    assert len(names) == len(set(names)), "two scenarios of one name"
    return ALL

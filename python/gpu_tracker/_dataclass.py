# SPDX-License-Identifier: Apache-2.0
"""dataclass and field, as those of the module dataclasses, whose import alone costs 20 ms.

Only what the classes here need. The module is imported when somebody asks it about them:
dataclasses.fields(), asdict(), replace() and is_dataclass() work as with its own.
"""


class _Factory:
    def __init__(self, make):
        self.make = make


def field(*, default_factory):
    return _Factory(default_factory)


def _default(value):
    return value.make() if isinstance(value, _Factory) else value


class _Fields:
    """__dataclass_fields__ of a class, made when it is first asked for."""

    def __get__(self, instance, cls):
        import dataclasses

        columns = []
        for name in cls.__annotations__:
            if name not in cls._defaults:
                columns.append((name, cls.__annotations__[name]))
                continue
            value = cls._defaults[name]
            default = dataclasses.field(default_factory=value.make) \
                if isinstance(value, _Factory) else dataclasses.field(default=value)
            columns.append((name, cls.__annotations__[name], default))
        cls.__dataclass_fields__ = \
            dataclasses.make_dataclass(cls.__name__, columns).__dataclass_fields__
        return cls.__dataclass_fields__


def _init(self, *values, **named):
    names = type(self).__annotations__
    if len(values) > len(names):
        raise TypeError(f"{type(self).__name__} has {len(names)} fields, not {len(values)}")
    for name, value in zip(names, values):
        if name in named:
            raise TypeError(f"{type(self).__name__} got two values of {name!r}")
        named[name] = value
    for name in names:
        if name in named:
            setattr(self, name, named.pop(name))
        elif name in self._defaults:
            setattr(self, name, _default(self._defaults[name]))
        else:
            raise TypeError(f"{type(self).__name__} lacks a value of {name!r}")
    if named:
        raise TypeError(f"{type(self).__name__} has no field {next(iter(named))!r}")


def _repr(self):
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).__annotations__)
    return f"{type(self).__name__}({values})"


def _equal(self, other):
    if type(other) is not type(self):
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in type(self).__annotations__)


def dataclass(cls):
    cls._defaults = {name: cls.__dict__[name] for name in cls.__annotations__
                     if name in cls.__dict__}
    for name, value in cls._defaults.items():
        if isinstance(value, _Factory):
            delattr(cls, name)
    cls.__dataclass_fields__ = _Fields()
    cls.__init__, cls.__repr__, cls.__eq__ = _init, _repr, _equal
    cls.__hash__ = None
    return cls

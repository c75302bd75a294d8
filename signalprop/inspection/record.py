"""What an adapter is, what it is given, and what it says about a layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from signalprop._topics import Cites
from signalprop.inspection.decays import Decays
from signalprop.inspection.kernels import Kernel
from signalprop.inspection.laws import LawFit
from signalprop.inspection.paths import EnergyPath
from signalprop.inspection.tensors import Stored, Tensors

if TYPE_CHECKING:
    from signalprop.inspection.measured.record import Measured

REACH = 100_000  # steps that are looked at where no horizon is given
BEYOND = 100  # horizons after which a memory counts as one that never ends


@dataclass(frozen=True)
class Settings:
    """What the user asked for.

    Attributes
    ----------
    horizon
        T, or None.
    input_std
        What inputs add to the preactivation of every gate, or None: as each adapter says.
    eigenvalues
        Whether those of dense kernels are wanted, which take most of the time; without them `Kernel.radius` is None.
    """

    horizon: int | None = None
    input_std: float | None = None
    eigenvalues: bool = True

    @property
    def reach(self) -> int:
        """The last step that is looked at."""
        return REACH if self.horizon is None else BEYOND * self.horizon


@dataclass(frozen=True)
class Site:
    """A place in a model where an adapter found a layer.

    Attributes
    ----------
    name
        Of the layer: the path of its module, ``layers.3.mixer``; empty for a model that is one layer.
    parameters
        Its tensors by role.
    tensors
        All of the model, for what stands beside.
    """

    name: str
    parameters: Mapping[str, Stored]
    tensors: Tensors

    @property
    def module(self) -> Any:
        """The module of a live model, None for a file."""
        return self.tensors.modules.get(self.name)

    def attribute(self, name: str, otherwise: Any = None) -> Any:
        """An attribute of the module, where there is one."""
        return getattr(self.module, name, otherwise)

    def beside(self, *endings: str) -> Stored | None:
        """The first tensor below the layer with one of these names."""
        for ending in endings:
            found = self.tensors.get(joined(self.name, ending))
            if found is not None:
                return found
        return None


@dataclass(frozen=True)
class LayerReport:
    """What the parameters of one recurrence promise.

    Attributes
    ----------
    name
        Path of its module, with ``_l1`` or ``_l0_reverse`` where a module has several layers.
    adapter
        Name of the adapter that read it.
    about
        What it is, in a few words.
    parameters
        Names of the tensors that were read.
    storage
        Type they are stored in.
    forward, gradient
        What is left of an input, and of a gradient carried back; None where no theory has it, `assumes` then says why.
    units
        Units that decay on their own, as diagonal recurrences and gates do; None for a dense kernel without gates.
    kernels
        Square kernels, one for each gate.
    laws
        For each parameter with published laws of its start the nearest one.
    assumes
        What the numbers take for granted, a sentence each.
    details
        Further numbers of the adapter, by name.
    measured
        What a batch showed; None without a batch, or where it does not reach the layer.
    """

    name: str
    adapter: str
    about: str
    parameters: tuple[str, ...]
    storage: str
    forward: EnergyPath | None
    gradient: EnergyPath | None
    units: Decays | None = None
    kernels: tuple[Kernel, ...] = ()
    laws: tuple[LawFit, ...] = ()
    assumes: tuple[str, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict)
    measured: Measured | None = None


@dataclass(frozen=True)
class Adapter:
    """How one family of layers is recognised and read.

    Attributes
    ----------
    about
        What the family is, in a few words.
    find
        Its places in a model; the second argument says whether the user named this adapter, so that doubt is settled.
    look
        What it says of one place: a report for each layer and direction.
    cites
        What to cite for its laws.
    """

    about: str
    find: Callable[[Tensors, bool], Iterable[Site]]
    look: Callable[[Site, Settings], list[LayerReport]]
    cites: Cites


def joined(home: str, name: str) -> str:
    """The name of a tensor below a module."""
    return f"{home}.{name}" if home else name


def split(name: str, ending: str) -> str | None:
    """The module whose tensor of this name it is, or None if it has another one."""
    if name == ending:
        return ""
    return name[: -len(ending) - 1] if name.endswith(f".{ending}") else None


def sites_of(
    tensors: Tensors,
    anchor: tuple[str, tuple[str, ...]],
    others: Mapping[str, tuple[str, ...]],
    accept: Callable[[Site], bool],
) -> Iterator[Site]:
    """Places with a tensor of one of these names.

    Parameters
    ----------
    tensors
        Of the model.
    anchor
        The role of the tensor that a layer must have, and its names; a name may have dots.
    others
        Further roles with their names below the same module, in the order of preference; they may be missing.
    accept
        Whether such a place is a layer of the family.
    """
    role, endings = anchor
    for name, tensor in tensors.items():
        for ending in endings:
            home = split(name, ending)
            if home is None:
                continue
            found = {role: tensor}
            for other, names in others.items():
                if (one := Site(home, {}, tensors).beside(*names)) is not None:
                    found[other] = one
            site = Site(home, found, tensors)
            if accept(site):
                yield site

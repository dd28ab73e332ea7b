"""Every unit of the catalogues keeps the contract."""

import pytest

from arithmos.nn import NEWER, UNITS
from arithmos.testing import CONTRACT, check_compile, check_export


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("unit", [*UNITS.values(), *NEWER.values()], ids=lambda unit: unit.name)
def test_contract(unit, check, request):
    if check in (check_compile, check_export):
        request.getfixturevalue("shapes_unchecked")  # torch cannot trace the checker of shapes
    check(unit)

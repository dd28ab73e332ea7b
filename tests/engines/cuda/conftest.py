"""The same tests on fibers of this processor and, where there is one, on a GPU."""

import pytest
from tests.engines.cuda.shim import HostDevice


@pytest.fixture(params=["host", pytest.param("gpu", marks=pytest.mark.gpu)], scope="session")
def device(request):
    if request.param == "host":
        return HostDevice()
    from arithmos.engines.cuda.device import Gpu

    return Gpu()

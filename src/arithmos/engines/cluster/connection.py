"""Connection to a Dask scheduler, or an error that says why there is none."""

import asyncio
import ssl
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from distributed import Client
from distributed.comm import CommClosedError, connect, get_address_host
from distributed.security import Security
from distributed.versions import VersionMismatchWarning

from .. import Refused

CONNECT_S = 10.0
"""Seconds that a scheduler has to answer."""

CONNECTED = 0.8
"""Share of that time within which it must accept the connection; Dask retries, since it may be about to start."""


@contextmanager
def connected(address: str, security: Security) -> Iterator[Client]:
    """Connect to a scheduler.

    Args:
        address: address of the scheduler.
        security: certificates to show and to accept.

    Raises:
        ConnectionError: no scheduler answers in time.
        Refused: the address needs a certificate, and none is configured.
    """
    with ThreadPoolExecutor(1) as thread:  # this thread may run an event loop, as in a notebook
        thread.submit(asyncio.run, _greet(address, security)).result()
    # A client that fails is closed here. Left to the garbage collector, it may close itself while another one starts,
    # and both deadlock.
    client = Client.__new__(Client)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # versions are compared on admission
            client.__init__(address, timeout=CONNECT_S, security=security, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        client.close()
        raise _nobody(address, str(error)) from error
    with client:
        yield client


async def _greet(address: str, security: Security) -> None:
    """Ask the peer what it is; Dask's client would wait forever for one that accepts connections but is silent."""
    try:
        arguments = security.get_connection_args("client")
    except OSError as error:
        raise Refused(
            f"certificates under distributed.comm.tls in Dask's configuration cannot be used: {error}"
        ) from error
    if address.startswith("tls:") and arguments["ssl_context"] is None:
        raise Refused(f"{address} needs a certificate, and Dask's configuration has none under distributed.comm.tls")
    try:
        get_address_host(address)
    except Exception as error:  # each protocol raises its own
        raise _nobody(address, str(error)) from error
    try:
        async with asyncio.timeout(CONNECT_S):
            comm = await connect(address, timeout=CONNECTED * CONNECT_S, **arguments)
            try:
                await comm.write({"op": "identity", "reply": True})
                kind = (await comm.read())["type"]
            finally:
                comm.abort()
    except Exception as error:  # Dask parses the bytes of any peer and may raise anything
        raise _nobody(address, _reason(error, address)) from error
    if kind != "Scheduler":
        raise _nobody(address, f"the peer is a Dask {kind}")


def _nobody(address: str, reason: str) -> ConnectionError:
    return ConnectionError(f"no Dask scheduler answers at {address}: {reason}")


def _reason(error: BaseException, address: str) -> str:
    if isinstance(error, TimeoutError):
        return f"the peer accepts connections, but says nothing within {CONNECT_S:.0f} s; is this another port?"
    first = error
    while first.__cause__ is not None:
        first = first.__cause__
    hint = "is it without TLS, at tcp:?" if address.startswith("tls:") else "is it under TLS, at tls:?"
    match first:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not from the authority in Dask's configuration ({first.verify_message})"
        case ssl.SSLError():
            return f"the TLS handshake failed ({first.reason}); {hint}"
        case RuntimeError():
            return str(first)
    if isinstance(error, CommClosedError):
        return f"the peer closed the connection; {hint}"
    if isinstance(error, OSError):
        why = getattr(first, "strerror", None)
        return f"no connection within {CONNECTED * CONNECT_S:.0f} s" + (f" ({why})" if why else "")
    return f"the peer does not speak Dask's protocol; {hint}"

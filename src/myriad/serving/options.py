"""The options of the server, in a module that imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from myriad.errors import InputError
from myriad.options import check_options, option, same_option
from myriad.pipelines.predicting.decision_options import DecisionOptions

LOOPBACK = "127.0.0.1"
MEGABYTE = 1_000_000


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """How a model is served: the address, who may use it, and the limits of a request.

    Attributes
    ----------
    host, port : the address to listen on; port 0 takes any free port.
    api_key : what a client must send in the header ``X-API-Key``; None for no key.
    open : whether everyone who reaches the address may use it, without a key.
    allow_host : further names of this server, separated by commas, such as that of a proxy.
    reject : when the answer is "unknown"; see `DecisionOptions`.
    prior, assign : weights of labels, and which are given where rows have several; see there.
    max_images : the most images of one request.
    max_megabytes : the largest body of a request, counted while it arrives.
    max_megapixels : larger images are refused before they are decoded.
    queue : images that may wait for a worker; a request beyond that is answered with 503.
    timeout : seconds that a request may take, from its first byte to its answer.
    connections : connections at a time; further ones are answered with 503.
    feedback : a folder for images whose label a user corrects; None keeps nothing.
    max_feedback : images that the folder takes.
    """

    host: str = option(LOOPBACK, help="Address to listen on.")
    port: int = option(8000, minimum=0, maximum=65535, help="Port; 0 for any free port.")
    api_key: str | None = option(
        None,
        help="Key that clients must send as X-API-Key; better set in MYRIAD_API_KEY.",
        default_text="none",
    )
    open: bool = option(
        False, help="Allow an address other than 127.0.0.1 without a key: anyone may use it."
    )
    allow_host: str = option(
        "",
        help="Further host names that browsers may use, separated by commas, as behind a proxy.",
        default_text="none",
    )
    reject: str | None = same_option(DecisionOptions, "reject")
    prior: str | None = same_option(DecisionOptions, "prior")
    assign: str | None = same_option(DecisionOptions, "assign")
    max_images: int = option(
        64, minimum=1, maximum=10_000, help="Maximum number of images per request."
    )
    max_megabytes: float = option(
        32.0, above=0, maximum=4096, help="Maximum size of a request, in megabytes."
    )
    max_megapixels: float = option(
        50.0, above=0, maximum=1000, help="Maximum size of an image, in megapixels."
    )
    queue: int = option(
        256,
        minimum=1,
        maximum=100_000,
        help="Maximum number of queued images; beyond that, status 503.",
    )
    timeout: float = option(
        30.0, above=0, maximum=3600, help="Maximum duration of a request, in seconds."
    )
    connections: int = option(
        512,
        minimum=1,
        maximum=100_000,
        help="Maximum number of concurrent connections; beyond that, status 503.",
    )
    feedback: str | None = option(
        None,
        help="Folder for images whose label a user corrects, for the next training.",
        default_text="nothing is kept",
    )
    max_feedback: int = option(
        10_000,
        minimum=1,
        maximum=10_000_000,
        help="Maximum number of images in the feedback folder.",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.api_key is not None and not self.api_key.strip():
            raise InputError("--api-key must not be empty.")
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise InputError("--api-key must be printable ASCII, as headers of HTTP are.")
        if not self.is_local and self.api_key is None and not self.open:
            raise InputError(
                f"{self.host} can be reached from other machines: give an --api-key, or --open "
                "if anyone may use the model."
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def allowed_hosts(self) -> set[str] | None:
        """The names by which clients may call this server; None for any.

        On an address of this machine alone, a page of another site could otherwise reach the
        server by a name that its owner points here (DNS rebinding).
        """
        named = {name.strip().lower() for name in self.allow_host.split(",")} - {""}
        if not self.is_local and not named:
            return None
        return {"localhost", LOOPBACK, "::1", self.host.lower()} | named

    @property
    def max_bytes(self) -> int:
        """The largest body of a request, in bytes."""
        return int(self.max_megabytes * MEGABYTE)

    @property
    def max_pixels(self) -> int:
        """The most pixels of an image."""
        return int(self.max_megapixels * MEGABYTE)

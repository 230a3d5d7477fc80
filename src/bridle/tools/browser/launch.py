"""Which Chromium is started, how, and what confines it."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import msgspec

from bridle.errors import ToolError
from bridle.sandbox.bubblewrap import Bubblewrap
from bridle.sandbox.kinds import read_only
from bridle.sandbox.proxy import PORT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.ports.sandbox import Sandbox
    from bridle.sandbox.hosts import Hosts

VARIABLE = "BRIDLE_CHROMIUM"
PROGRAMS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "chromium-headless-shell", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)  # fmt: skip
WIDTH, HEIGHT = 1280, 800
FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
    "--no-startup-window", "--allow-browser-signin=false",
    "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-sync", "--disable-breakpad", "--disable-crash-reporter", "--disable-quic",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
    "--disable-domain-reliability", "--metrics-recording-only", "--mute-audio", "--no-pings",
    "--hide-scrollbars", "--password-store=basic", "--use-mock-keychain",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--proxy-bypass-list=<-loopback>", f"--window-size={WIDTH},{HEIGHT}",
)  # fmt: skip
"""Everything goes through the proxy, the loopback too; the browser itself looks up no name."""

PIPED = 'exec "$@" 3<&0 4>&1 </dev/null >&2'
"""Chromium talks on descriptors 3 and 4; the supervisor on the standard streams."""


def find_chromium(environ: Mapping[str, str]) -> str:
    """The program; raises `ToolError` with what to install where there is none."""
    wanted = environ.get(VARIABLE)
    for name in (wanted,) if wanted else PROGRAMS:
        found = shutil.which(name)
        if found is not None:
            return found
    tried = f"{VARIABLE}={wanted}" if wanted else ", ".join(PROGRAMS[:5])
    raise ToolError(
        f"There is no Chromium on this machine (looked for {tried}).",
        hint="The user installs one: `scripts/install-system --browser`, `apt install chromium`, "
        f"`dnf install chromium` or `brew install chromium`; {VARIABLE} names one elsewhere. "
        "web_fetch reads pages without a browser.",
        kind="not_installed",
    )


def confined(sandbox: Sandbox, hosts: Hosts) -> Sandbox:
    """The workspace's sandbox for a browser: nothing writable but its temp, hosts by a proxy."""
    if isinstance(sandbox, Bubblewrap):
        policy = msgspec.structs.replace(read_only(sandbox.policy), network="hosts")
        return msgspec.structs.replace(sandbox, policy=policy, hosts=hosts)
    if sandbox.kind in ("none", "no-shell"):
        return sandbox
    raise ToolError(
        f"A browser cannot be held to its hosts in the sandbox {sandbox.kind!r}.",
        hint="The user installs bubblewrap, or chooses the sandbox `none`. web_fetch reads pages "
        "without a browser.",
        kind="not_confined",
    )


def command(program: str, *, profile: str, sandbox: Sandbox, port: int | None) -> list[str]:
    """What is executed; `port` is the proxy's on this machine where the sandbox has none."""
    proxy = f"--proxy-server=http://127.0.0.1:{PORT if port is None else port}"
    ours = sandbox.kind == "bubblewrap" or os.geteuid() == 0
    own = ("--no-sandbox",) if ours else ()  # inside of ours; and it refuses to run as root with it
    return ["sh", "-c", PIPED, "sh", program, *FLAGS, *own, proxy, f"--user-data-dir={profile}"]

"""Pages and views in a real browser: they render, play, and what is moved on them moves the mechanism.

Pictures are compared with a stored one by what is seen where, not by pixels: fonts and drivers differ. With
CATENA_STORE_PICTURE=1 the stored one is made anew: look at it.
"""

import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import catena as ct

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright")
matplotlib_image = pytest.importorskip("matplotlib.image")
CHROMIUM = os.environ.get("CATENA_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

STORED = Path(__file__).parents[1] / "data" / "four_bar_page.png"

# a page may be a minute late where a machine draws without a graphics card and has other things to do
PATIENCE = 60_000


@pytest.fixture(scope="module")
def browser():
    flags = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run")
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
    with playwright.sync_playwright() as p:
        found = p.chromium.launch(executable_path=CHROMIUM, args=[*flags, *quiet])
        yield found
        found.close()


@pytest.fixture
def tab(browser):
    """An empty page; whatever it says of errors, or asks another machine for, fails the test."""
    # what our pages forbid themselves, playwright needs; and names must be harmless without it
    page = browser.new_page(viewport={"width": 900, "height": 500}, bypass_csp=True)
    page.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if is_near(request.url) else wrong.append(f"asks for {request.url}"))
    yield page
    page.close()
    assert wrong == []


def is_near(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:", "about:"))


@pytest.fixture
def served(tmp_path):
    """An address under which a plain file server has the folder."""
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        pass


def linkage() -> ct.Mechanism:
    a, b, c, d = (0, 0, 0), (0.3, 0, 0), (1.2, 0, 0.4), (0.9, 0, 0)
    m = ct.Mechanism()
    for name, start, end in (("crank", a, b), ("coupler", b, c), ("rocker", c, d)):
        m.add_body(name, ct.rod(start, end, mass=0.5, radius=0.03))
    hinges = (("world", "crank", a), ("crank", "coupler", b), ("coupler", "rocker", c), ("rocker", "world", d))
    for name, (one, other, place) in zip(("motor", "elbow", "knee", "foot"), hinges, strict=True):
        m.add_joint(ct.Revolute(one, other, axis=(0, 1, 0), at=place, name=name))
    m.add_frame("tool", "coupler", position=(0.1, 0, 0.2))
    m.add_force(ct.Motor("motor", 0.0, name="torque"))
    return m


# ---- what a picture shows


def structure(path: Path) -> dict[str, np.ndarray]:
    """Of the blue, orange and green body: part of the picture, middle, and extent, all in parts of the picture."""
    pixels = matplotlib_image.imread(path)[..., :3]
    red, green, blue = np.moveaxis(pixels, -1, 0)
    vivid = pixels.max(axis=-1) - pixels.min(axis=-1) > 0.12
    bodies = {
        "crank": vivid & (blue > red) & (blue > green),
        "coupler": vivid & (red > green) & (green > blue),
        "rocker": vivid & (green > red) & (green > blue),
    }
    found = {}
    for name, here in bodies.items():
        places = np.argwhere(here) / here.shape
        assert len(places) > 50, f"{name} is not to be seen"
        low, high = np.quantile(places, (0.02, 0.98), axis=0)
        found[name] = np.array((here.mean(), *places.mean(axis=0), *(high - low)))
    return found


def shot(page, path: Path) -> dict[str, np.ndarray]:
    """Of the scene alone; frames and traces, whose colors are those of bodies, should be hidden."""
    page.locator("#canvas").screenshot(path=path, timeout=PATIENCE)
    return structure(path)


def moment(page) -> float:
    return float(page.inner_text("#time").split("/")[0])


# ---- pages


def test_a_page_shows_plays_and_scrubs(tab, served, tmp_path):
    ct.Simulator(linkage(), dt=0.01).run(duration=4).save_html(tmp_path / "page", traces=["tool"])
    tab.goto(f"{served}/page/")
    for name in ("frames", "traces"):
        tab.get_by_label(name).uncheck()
    tab.wait_for_function("document.getElementById('time').textContent !== ''")
    seen = shot(tab, tmp_path / "seen.png")
    if os.environ.get("CATENA_STORE_PICTURE"):
        shutil.copy(tmp_path / "seen.png", STORED)
    stored = structure(STORED)
    for name, numbers in stored.items():
        # a few pixels of 500, and of its size what another way to smooth edges makes of it
        np.testing.assert_allclose(seen[name][1:], numbers[1:], atol=0.02, err_msg=name)
        assert seen[name][0] == pytest.approx(numbers[0], rel=0.2), name

    # it plays, stops, and goes where it is told to
    assert moment(tab) == 0
    tab.get_by_role("button", name="play").click()
    tab.wait_for_function("parseFloat(document.getElementById('time').textContent) > 0.3")
    tab.get_by_role("button", name="pause").click()
    stopped = moment(tab)
    tab.wait_for_timeout(300)
    assert moment(tab) == stopped
    tab.locator("#scrub").fill("0.25")
    tab.wait_for_function("parseFloat(document.getElementById('time').textContent) === 1")
    until(tab, lambda: np.abs(shot(tab, tmp_path / "turned.png")["crank"] - seen["crank"]).max() > 0.03)
    turned = shot(tab, tmp_path / "turned.png")

    # names and forces are shown when they are asked for
    assert tab.locator("#labels span:visible").count() == 0
    tab.get_by_label("names").check()
    tab.wait_for_function("document.querySelector('#labels span:not([hidden])')")
    assert set(tab.locator("#labels span:visible").all_inner_texts()) >= {"crank", "knee"}
    before = shot(tab, tmp_path / "before.png")["coupler"][0]
    tab.get_by_label("forces").check()
    # arrows are red, and lie in front of bodies
    until(tab, lambda: shot(tab, tmp_path / "after.png")["coupler"][0] != before)

    # it is turned with the mouse, and put back by a double click
    box = tab.locator("#canvas").bounding_box()
    x, y = box["x"] + 0.5 * box["width"], box["y"] + 0.8 * box["height"]
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 120, y + 20, steps=4)
    tab.mouse.up()
    until(tab, lambda: np.abs(shot(tab, tmp_path / "aside.png")["coupler"] - turned["coupler"]).max() > 0.03)


def test_a_page_plays_from_a_disk_and_without_a_motion(tab, tmp_path):
    m = linkage()
    m.save_html(tmp_path)
    tab.goto((tmp_path / "index.html").as_uri())
    tab.wait_for_function("document.getElementById('time').textContent !== ''")
    assert not tab.locator("#bar").is_visible()
    assert not tab.locator("#side").is_visible()
    assert shot(tab, tmp_path / "canvas.png")


def test_a_page_plays_by_itself_if_the_address_says_so(tab, tmp_path):
    page = ct.Simulator(linkage(), dt=0.01).run(duration=4).save_html(tmp_path / "page")
    tab.goto(f"{page.as_uri()}#play")
    tab.wait_for_function("parseFloat(document.getElementById('time').textContent) > 0.5")


def test_a_note_says_what_is_not_drawn(tab, tmp_path):
    m = linkage()
    m.bodies["crank"].add_shape("mesh", mesh="nowhere.stl")
    m.save_html(tmp_path)
    tab.goto((tmp_path / "index.html").as_uri())
    assert "there is no file 'nowhere.stl'" in tab.inner_text("#notes")


def picture_of_scene(page, path: Path) -> None:
    """What the canvas shows, without waiting for it to stand still."""
    page.screenshot(path=path, clip=page.locator("canvas").first.bounding_box(), timeout=PATIENCE)


def glowing(page, path: Path) -> int:
    """Pixels of the scene in the color of a stop that acts."""
    picture_of_scene(page, path)
    red, green, blue = np.moveaxis(matplotlib_image.imread(path)[..., :3], -1, 0)
    # in the light of views it is paler than on pages
    return int(((red > 0.5) & (green < 0.55 * red) & (blue < 0.45 * red)).sum())


def stopped_pendulum() -> ct.Mechanism:
    m = ct.Mechanism()
    m.add_body("rod", ct.rod((0, 0, 0), (1, 0, 0), mass=1.0))
    m.add_joint(ct.Revolute("world", "rod", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.joints["hinge"].limits = ct.Limits(-0.5, 1.0)
    return m


def test_stops_light_up_on_a_page(tab, tmp_path):
    run = ct.Simulator(stopped_pendulum(), dt=0.01).run(duration=1)
    hit = run.impacts[0].time
    tab.goto(run.save_html(tmp_path / "page").as_uri())
    for time, acts in ((0.5 * hit, False), (hit + 0.1, True)):
        tab.evaluate(f"go({time})")
        until(tab, lambda time=time: abs(moment(tab) - time) < 0.02)
        tab.wait_for_timeout(100)
        assert (glowing(tab, tmp_path / "seen.png") > 30) == acts
    tab.get_by_label("limits").uncheck()
    until(tab, lambda: glowing(tab, tmp_path / "seen.png") < 30)


# ---- views


def typed(page, label: str, value: float) -> None:
    """Give a slider a value, in the field beside it."""
    row = page.locator("label", has_text=label).first.locator("xpath=ancestor::div[contains(@class, 'Flex-root')][1]")
    field = row.locator("input[inputmode=decimal]")
    field.fill(str(value))
    field.press("Enter")


def until(page, true) -> None:
    """Wait for something on this side of the connection."""
    for _ in range(PATIENCE // 50):
        if true():
            return
        page.wait_for_timeout(50)
    pytest.fail("nothing happened")


@pytest.fixture
def viser():
    return pytest.importorskip("viser", reason="no viser")


def test_a_run_is_shown_and_played(viser, tab, tmp_path):
    run = ct.Simulator(linkage(), dt=0.01).run(duration=4)
    sizes: list[int] = []
    tab.on("websocket", lambda socket: socket.on("framereceived", lambda data: sizes.append(len(data))))
    with run.show(traces=["tool"], browser=False) as view:
        tab.goto(view.url)
        tab.get_by_role("button", name="play", exact=True).click()
        until(tab, lambda: view.time > 0.1)
        sizes.clear()
        until(tab, lambda: view.time > 0.4)
        tab.get_by_role("button", name="pause", exact=True).click()
        until(tab, lambda: tab.get_by_role("button", name="play", exact=True).is_visible())
        stopped = view.time
        tab.wait_for_timeout(200)
        assert view.time == stopped
        typed(tab, "time [s]", 2.0)
        until(tab, lambda: abs(view.time - 2.0) < 1e-6)
        # a line in the plots is there, of which no curve was sent again
        energy = view._charts[0]._handle
        until(tab, lambda: energy.axes[2]["splits"] == (view.time,))
        assert max(sizes) < energy.data[0].nbytes
        tab.locator("canvas").first.screenshot(path=tmp_path / "seen.png", timeout=PATIENCE)
        structure(tmp_path / "seen.png")

        # the same in a notebook, where it needs no server any more
        embedded = view._repr_html_()
    tab.set_content(embedded)
    inside = tab.frame_locator("iframe")
    inside.get_by_role("button", name="play").click()
    until(tab, lambda: float(inside.locator("#time").inner_text().split("/")[0]) > 0.2)


def test_sliders_move_a_loop(viser, tab):
    m = linkage()
    with m.show(browser=False) as view:
        tab.goto(view.url)
        typed(tab, "motor.angle", 0.8)
        until(tab, lambda: abs(view.state.joint("motor").angle - 0.8) < 1e-6)
        state = view.state
        assert max(state.joint(name).gap for name in m.joints) < 1e-9
        assert abs(state.joint("foot").angle) > 0.05

        # where it cannot go it says so, and stays
        typed(tab, "knee.angle", 3.0)
        until(tab, lambda: "knee" in view.message)
        tab.get_by_text("cannot").first.wait_for()
        np.testing.assert_array_equal(view.state.position, state.position)
        assert ct.Simulator(m, dt=0.01).run(steps=10, state=state).status.ok


def test_a_live_mechanism_is_watched(viser, tab):
    m = linkage()
    # how far it gets is the machine's affair
    live = ct.Simulator(m, dt=0.005, on_inaccurate="ignore").start()
    with live.show(traces=["tool"], inputs={"torque": (-2.0, 2.0)}, browser=False) as view:
        tab.goto(view.url)
        typed(tab, "motor.angle", 0.5)
        until(tab, lambda: abs(live.joint("motor").angle - 0.5) < 1e-6)
        assert live.time == 0
        tab.get_by_role("button", name="play", exact=True).click()
        until(tab, lambda: live.time > 0.3)
        typed(tab, "torque", 1.5)
        until(tab, lambda: live.inputs_by_name["torque"] == pytest.approx(1.5))
        tab.get_by_role("button", name="pause", exact=True).click()
        until(tab, lambda: tab.get_by_role("button", name="play", exact=True).is_visible())
        assert max(live.joint(name).gap for name in m.joints) < 1e-9
        tab.get_by_role("button", name="restart", exact=True).click()
        until(tab, lambda: live.time == 0)


def test_stops_light_up_in_a_live_view(viser, tab, tmp_path):
    live = ct.Simulator(stopped_pendulum(), dt=0.005, on_inaccurate="ignore").start()
    with live.show(browser=False) as view:
        tab.goto(view.url)
        tab.get_by_role("button", name="play", exact=True).wait_for()
        until(tab, lambda: len(colors_seen(tab, tmp_path / "seen.png")) > 1)
        # the axes in the corner are red, too
        before = glowing(tab, tmp_path / "seen.png")
        tab.get_by_role("button", name="play", exact=True).click()
        until(tab, lambda: live.time > 0.8)
        until(tab, lambda: glowing(tab, tmp_path / "seen.png") > before + 30)


def colors_seen(page, path: Path) -> np.ndarray:
    """The colors that are to be seen, coarsely."""
    picture_of_scene(page, path)
    return np.unique((4 * matplotlib_image.imread(path)[..., :3]).round().reshape(-1, 3), axis=0)


# ---- what a model must not do


def hostile(word: str) -> str:
    """A name that marks the page if any part of it is taken for markup or script."""
    mark = f"(top.taken=top.taken||[]).push('{word}')"
    return (
        f'{word}"\'`><iframe srcdoc="<script>{mark}</script>"></iframe><img src=x: onerror={mark}><svg onload={mark}>'
        f"</title></style></script><script>{mark}</script>{{{mark}}}${{{mark}}}[{word}](javascript:{mark})"
        f"![{word}](https://elsewhere.test/{word}.png)<b id={word}>**{word}** \u202e&lt;b&gt;\n\n# {word}\n- \x01\ud800"
    )


def hostile_linkage() -> ct.Mechanism:
    """A mechanism every name of which is hostile, with a mesh that cannot be read."""
    m = ct.Mechanism()
    a, b, c, d = (0, 0, 0), (0.3, 0, 0), (1.2, 0, 0.4), (0.9, 0, 0)
    for name, start, end in (("crank", a, b), ("coupler", b, c), ("rocker", c, d)):
        m.add_body(hostile(name), ct.rod(start, end, mass=0.5, radius=0.03))
    bodies = ["world", *m.bodies, "world"]
    for k, place in enumerate((a, b, c, d)):
        m.add_joint(ct.Revolute(bodies[k], bodies[k + 1], axis=(0, 1, 0), at=place, name=hostile(f"hinge{k}")))
    m.add_frame(hostile("tool"), bodies[2], position=(0.1, 0, 0.2))
    m.add_force(ct.Motor(hostile("hinge0"), 0.0, name=hostile("torque")))
    m.add_force(ct.PointSpring("world", bodies[2], 1.0, points=((0, 0, 1), b), name=hostile("spring")))
    for k in range(2):
        m.bodies[bodies[1 + k]].add_shape("mesh", mesh=hostile(f"file{k}").replace("/", "|") + ".stl")
    return m


def taken(tab) -> list[str]:
    """Names that ran script, or made elements of their own, on a page that had the time to do so."""
    tab.wait_for_timeout(1500)
    found = []
    for frame in tab.frames:
        found += frame.evaluate(
            "[...(window.taken || []), ...[...document.querySelectorAll('b[id]')].map((b) => b.id)]"
        )
    return found


def test_hostile_names_do_nothing_in_a_view_of_a_pose(viser, tab):
    m = hostile_linkage()
    with m.show(browser=False) as view:
        tab.goto(view.url)
        tab.get_by_text("its mesh is not drawn").first.wait_for()
        tab.get_by_role("checkbox", name="names").check()
        assert taken(tab) == []
        # and where a slider cannot go
        typed(tab, "hinge2", 3.0)
        until(tab, lambda: "cannot" in view.message)
        tab.get_by_text("cannot").first.wait_for()
        assert taken(tab) == []


def test_hostile_names_do_nothing_in_views_of_what_moves(viser, tab):
    m = hostile_linkage()
    simulator = ct.Simulator(m, dt=0.005, on_inaccurate="ignore")
    with simulator.run(duration=1).show(traces=[hostile("tool")], browser=False) as view:
        tab.goto(view.url)
        tab.get_by_role("checkbox", name="names").check()
        tab.get_by_text("its mesh is not drawn").first.wait_for()
        assert taken(tab) == []

    def control(live) -> None:
        raise ValueError(hostile("control"))

    with simulator.start().show(traces=[hostile("tool")], control=control, browser=False) as view:
        tab.goto(view.url)
        tab.get_by_text("torque").first.wait_for()
        tab.get_by_role("button", name="play", exact=True).click()
        tab.get_by_text("ValueError").first.wait_for()
        assert taken(tab) == []
        with pytest.raises(ValueError, match="control"):
            view.wait()


def test_hostile_names_do_nothing_on_pages_and_in_notebooks(tab, tmp_path):
    m = hostile_linkage()
    run = ct.Simulator(m, dt=0.01).run(duration=1)
    page = run.save_html(tmp_path / "page", traces=[hostile("tool")])
    tab.goto(page.as_uri())
    tab.get_by_label("names").check()
    tab.wait_for_function("document.querySelector('#labels span:not([hidden])')")
    assert "its mesh is not drawn" in tab.inner_text("#notes")
    assert taken(tab) == []
    shown = (m, m.state(), run, m.report(), run.joint(hostile("hinge0")), run.body(hostile("crank")))
    for thing in shown:
        text = thing._repr_html_() if hasattr(thing, "_repr_html_") else ""
        tab.set_content(f"<!doctype html><p>it is here</p>{text}".encode("utf-8", "replace").decode())
        assert taken(tab) == []

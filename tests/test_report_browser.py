"""The web page in a real browser: Chromium, without a window and without a network."""

import csv
import json
import shutil
import time

import numpy as np
import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from modeseek import KernelDensityGradient, ModeClustering
from modeseek.cluster.profile import profile_rows, say_what_sets_apart
from modeseek.datasets import three_gaussians
from modeseek.plot.drawing import SYMBOLS, palette
from modeseek.report import write_report
from modeseek.rows.coordinates import Frame
from modeseek.tree.gaps import GAP_IN_WORDS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="no browser: install Debian's chromium and chromium-driver",
)

#: Names that a careless page would run or swallow.
NAMES = ["<script>alert(1)</script>", "<b>bold</b> &amp; {{data}}", '"></select>']

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--window-size=1280,1000",
)


@pytest.fixture(scope="module")
def fitted():
    """A model with many modes and weights, and its rows."""
    X, _ = three_gaussians(3).sample(600, random_state=0)
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(X))
    model = ModeClustering(KernelDensityGradient(0.35), prominence="auto")
    return model.fit(X, sample_weight=weight), X


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Page:
    """What a reader does with the page."""

    def __init__(self, driver, file, downloads, n_rows):
        self.driver, self.downloads, self.n_rows = driver, downloads, n_rows
        driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior",
            {"behavior": "allow", "downloadPath": str(downloads)},
        )
        driver.get(file.as_uri())
        self.wait_for(lambda: self.run("return document.body.dataset.ready"))

    def wait_for(self, condition):
        return WebDriverWait(self.driver, 60, 0.05).until(lambda _: condition())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def __getitem__(self, name):
        return self.driver.find_element("id", name)

    def settle(self):
        """Wait for the frame in which scheduled drawings happen, and the next one."""
        self.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        )

    def type_level(self, text):
        self["exact"].clear()
        self["exact"].send_keys(text)
        self.settle()

    def downloaded(self):
        """Text of the file, once the browser has written all of its lines."""
        texts = [file.read_text("utf-8") for file in self.downloads.glob("*.csv")]
        whole = [text for text in texts if text.count("\n") >= 1 + self.n_rows]
        return whole[0] if whole else None

    def download(self):
        """Labels that the button gives, after checking the numbers of the rows."""
        for old in self.downloads.iterdir():
            old.unlink()
        self["download"].click()
        text = self.wait_for(self.downloaded)
        header, *table = csv.reader(text.splitlines())
        assert header == ["row", "cluster"]
        rows, labels = np.array(table, dtype=int).T
        np.testing.assert_array_equal(rows, np.arange(len(rows)))
        return labels


@pytest.fixture(scope="module")
def file(fitted, tmp_path_factory):
    model, X = fitted
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_report(
        path,
        model,
        X,
        modes=model.row_modes_,
        feature_names=NAMES,
        title=NAMES[0],
        settings={NAMES[0]: NAMES[1]},
        max_rows=400,
    )


@pytest.fixture
def page(driver, file, fitted, tmp_path):
    return Page(driver, file, tmp_path, len(fitted[1]))


def test_page_opens_with_the_fitted_labels(page, fitted):
    np.testing.assert_array_equal(page.download(), fitted[0].labels_)


def test_slider_gives_the_labels_of_cut(page, fitted):
    model, _ = fitted
    seen = set()
    for keys in (Keys.HOME, Keys.ARROW_RIGHT * 5, Keys.PAGE_UP, Keys.PAGE_UP, Keys.END):
        page["slider"].send_keys(keys)
        level = float(page["slider"].get_attribute("value"))
        labels = page.download()
        np.testing.assert_array_equal(labels, model.cut(prominence=level))
        seen.add(labels.max())
    assert len(seen) >= 4


def test_every_level_of_the_tree_gives_the_labels_of_cut(page, fitted):
    model, _ = fitted
    modes = model.row_modes_
    levels = np.unique(model.merge_tree_.prominence)
    assert len(levels) > 30
    # At a prominence itself its merge is not made; just above, it is.
    tried = np.concatenate([levels, np.nextafter(levels, np.inf)]).tolist()
    found = page.run(
        "return arguments[0].map((p) => { setLevel(p); return state.labels; })", tried
    )
    for level, labels in zip(tried, found, strict=True):
        expected = model.cut(prominence=level)
        np.testing.assert_array_equal(np.array(labels)[modes], expected)


def test_typed_level_gives_the_labels_of_cut(page, fitted):
    model, _ = fitted
    level = float(np.median(model.merge_tree_.prominence))
    page.type_level(repr(level))
    np.testing.assert_array_equal(page.download(), model.cut(prominence=level))


def test_buttons_walk_through_all_numbers_of_clusters(page, fitted):
    model, _ = fitted
    page["slider"].send_keys(Keys.HOME)
    n_modes = len(model.modes_)
    press = (
        "const [id, n] = arguments;"
        "const once = () => { $(id).click(); return state.tops.length; };"
        "return Array.from({length: n}, once);"
    )
    fewer = page.run(press, "fewer", n_modes)
    assert fewer == [*range(n_modes - 1, 0, -1), 1]
    np.testing.assert_array_equal(page.download(), model.cut(n_clusters=1))
    more = page.run(press, "more", n_modes)
    assert more == [*range(2, n_modes + 1), n_modes]
    page["fitted"].click()
    np.testing.assert_array_equal(page.download(), model.labels_)


def test_rows_take_the_marks_of_their_clusters(page, fitted):
    model, X = fitted
    page.type_level("0.4")
    trace = page.run("return document.getElementById('scatter').data[0]")
    shown = page.run("return Array.from(data.shown)")
    assert len(shown) == 400
    labels = model.cut(prominence=0.4)[shown]
    # Of the highest mode of each cluster: those of the fit come first.
    ranks = [*model.cluster_modes_]
    ranks += [mode for mode in range(len(model.modes_)) if mode not in ranks]
    tops = page.run("return state.tops")
    assert len(tops) != model.n_clusters_
    rank = [ranks.index(tops[k]) for k in labels]
    colors = palette(len(model.modes_))
    assert trace["marker"]["color"] == [colors[k] for k in rank]
    assert trace["marker"]["symbol"] == [SYMBOLS[k % len(SYMBOLS)] for k in rank]
    page.run("fillChoices; document.getElementById('across').value = 1; drawRows()")
    x = page.run("return document.getElementById('scatter').data[0].x")
    np.testing.assert_allclose(x, X[shown, 1], atol=1e-3)


def test_table_counts_all_rows(page, fitted):
    model, _ = fitted
    page.type_level("0.4")
    cells = page.run(
        "return Array.from(document.querySelectorAll('#clusters tbody tr'),"
        " (tr) => tr.cells[1].textContent)"
    )
    np.testing.assert_array_equal(
        np.array(cells, dtype=int), np.bincount(model.cut(prominence=0.4))
    )
    assert "Thinned: 400 of 600 rows" in page["notes"].text


def test_profiles_are_the_means_of_clusters(page, fitted):
    model, X = fitted
    page.type_level("0.4")
    z = page.run("return document.getElementById('profile').data[0].z")
    labels = model.cut(prominence=0.4)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    means = [standard[labels == k].mean(axis=0) for k in range(labels.max() + 1)]
    np.testing.assert_allclose(z, means[:30], atol=1e-5)


def test_page_says_what_sets_clusters_apart_and_why(page, fitted):
    model, X = fitted
    page.type_level("0.4")
    frame, n_modes = Frame(X.mean(axis=0), 1.0), len(model.modes_)
    profile = profile_rows(frame, X, model.row_modes_, n_modes)
    labels = model.label_modes(prominence=0.4)
    said = page.run(
        "return Array.from(document.querySelectorAll('#clusters tbody tr'),"
        " (tr) => tr.cells[5].textContent)"
    )
    assert said == say_what_sets_apart(profile.means(labels), NAMES)
    assert page["decision"].text == model.decision_


def test_a_prominence_that_the_rows_cannot_tell_is_a_gap(driver, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:100] += 1e4
    model = ModeClustering(ascent="rows").fit(X).recut(n_clusters=2)
    file = write_report(tmp_path / "gap.html", model, X)
    page = Page(driver, file, tmp_path, len(X))
    page.settle()
    shown = page.run("return $('clusters').tBodies[0].rows[1].cells[4].textContent")
    shown += page.run("return $('clusters').tBodies[0].rows[0].cells[4].textContent")
    assert ", a gap" in shown
    assert GAP_IN_WORDS in page["cluster-note"].text
    page.type_level("1e9")
    assert GAP_IN_WORDS not in page["cluster-note"].text


def test_feet_are_named_by_clusters_and_their_rows(page, fitted):
    model, _ = fitted
    page.type_level("1.2")
    sizes = np.bincount(model.cut(prominence=1.2))
    axis = "document.getElementById('tree').layout.xaxis"
    names = page.run(f"return {axis}.ticktext")
    assert 1 < len(names) <= len(sizes) <= 12
    assert set(names) <= {f"{k}<br>{size}" for k, size in enumerate(sizes)}
    assert f"0<br>{sizes[0]}" in names
    page.type_level("0")
    names = page.run(f"return {axis}.ticktext")
    assert "0" in names
    assert len(names) < len(model.modes_)


def test_rows_climb_to_their_modes(page, fitted):
    model, _ = fitted
    page.run("document.getElementById('across').value = 0")
    page.run("document.getElementById('up').value = 2")
    page["play"].click()
    page.wait_for(lambda: page["play"].text == "Climb")
    page.settle()
    assert page["frame"].get_attribute("value") == page["frame"].get_attribute("max")
    climbers = page.run("return Array.from(data.climbers)")
    x, y = page.run(
        "const t = document.getElementById('scatter').data[2]; return [t.x, t.y]"
    )
    ends = model.modes_[model.row_modes_[climbers]]
    np.testing.assert_allclose(np.column_stack([x, y]), ends[:, [0, 2]], atol=1e-3)
    page["frame"].send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    page.settle()
    assert page.run("return state.frame") == 1


def test_line_of_the_tree_can_be_dragged(page):
    page.type_level("1")
    line = page.driver.find_element("css selector", "#tree .shapelayer path")
    page.run("arguments[0].scrollIntoView({block: 'center'})", line)
    # The line has no height for the driver to find; it is taken a quarter of its way.
    x, y = page.run(
        "const line = arguments[0].getBoundingClientRect();"
        "return [line.x + line.width / 4, line.y].map(Math.round)",
        line,
    )
    drag = ActionChains(page.driver)
    drag.w3c_actions.pointer_action.move_to_location(x, y)
    drag.click_and_hold()
    drag.move_by_offset(0, 15).move_by_offset(0, 15).release().perform()
    page.settle()
    level = page.run("return state.prominence")
    assert 0 < level < 1
    assert float(page["exact"].get_attribute("value")) == level


def test_a_cluster_can_be_shown_alone(page, fitted):
    model, _ = fitted
    page.type_level("0.4")
    button = page.driver.find_element("css selector", "#clusters tbody button")
    button.send_keys(Keys.ENTER)
    page.settle()
    assert button.get_attribute("aria-pressed") == "true"
    opacity = page.run(
        "return document.getElementById('scatter').data[0].marker.opacity"
    )
    shown = page.run("return Array.from(data.shown)")
    np.testing.assert_array_equal(
        np.array(opacity) > 0.5, model.cut(prominence=0.4)[shown] == 0
    )


def test_keyboard_reaches_every_control(page):
    reached = []
    for _ in range(25):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        reached.append(page.run("return document.activeElement.id"))
    expected = ["theme", "slider", "exact", "fewer", "more", "fitted", "download"]
    expected += ["across", "up", "paint", "play", "frame"]
    # Between the choices and the climb are plotly's own buttons, without a name.
    assert [name for name in reached if name][: len(expected)] == expected
    named = page.run(
        "return Array.from(document.querySelectorAll('input, select'),"
        " (c) => c.labels.length)"
    )
    assert named
    assert all(named)


def test_markup_in_names_stays_text(page):
    with pytest.raises(NoAlertPresentException):
        _ = page.driver.switch_to.alert.text
    assert page.driver.title == NAMES[0]
    assert page.driver.find_element("tag name", "h1").text == NAMES[0]
    options = page.run(
        "return Array.from(document.getElementById('up').options, (o) => o.text)"
    )
    assert options[: len(NAMES)] == NAMES
    page.run("document.getElementById('across').value = 0")
    page.run("document.getElementById('up').value = 1; drawRows()")
    titles = "return document.querySelector('#scatter .{}title').textContent"
    assert page.run(titles.format("x")) == NAMES[0]
    assert page.run(titles.format("y")) == NAMES[1]
    ticks = page.run(
        "return Array.from(document.querySelectorAll('#profile .xtick text'),"
        " (t) => t.textContent)"
    )
    assert ticks == [name if len(name) <= 24 else f"{name[:23]}…" for name in NAMES]
    page.run("document.getElementById('made').open = true")
    assert NAMES[0] in page["settings"].text
    # The data, plotly packed and unpacked, and the page's own: no other has come.
    assert page.run("return document.querySelectorAll('script').length") == 4
    assert page.run("return document.querySelectorAll('b').length") == 0
    hover = page.run("return document.getElementById('scatter').data[0].text[0]")
    assert "&lt;script&gt;" in hover
    assert "<script" not in hover


def test_page_asks_for_nothing_and_complains_of_nothing(driver, file, fitted, tmp_path):
    driver.get("about:blank")
    driver.get_log("performance"), driver.get_log("browser")
    page = Page(driver, file, tmp_path, len(fitted[1]))
    page["slider"].send_keys(Keys.PAGE_UP)
    page["play"].click()
    page.wait_for(lambda: page["play"].text == "Climb")
    page.download()
    driver.execute_cdp_cmd("Page.printToPDF", {})
    time.sleep(0.2)  # what a late request would need to be logged
    events = [
        json.loads(entry["message"])["message"]
        for entry in driver.get_log("performance")
    ]
    requests = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert file.as_uri() in requests
    assert {url.split(":")[0] for url in requests} <= {"file", "blob", "data"}
    assert sum(url.startswith("file:") for url in requests) == 1
    assert driver.get_log("browser") == []
    assert not page["failure"].is_displayed()


def test_colors_stay_with_the_highest_mode_of_a_cluster(page, fitted):
    model, _ = fitted
    n_modes = len(model.modes_)
    assert n_modes > 56
    colors = page.run("setLevel(0); return state.tops.map((_, k) => color(k))")
    assert len(set(colors)) == n_modes
    of_mode = dict(zip(page.run("return state.tops"), colors, strict=True))
    for level in (0.1, 0.4, 1.2, 1e9):
        page.run("setLevel(arguments[0])", level)
        tops = page.run("return state.tops")
        found = page.run("return state.tops.map((_, k) => color(k))")
        assert found == [of_mode[top] for top in tops]


def test_levels_are_round_numbers(page, fitted):
    model, _ = fitted
    page["slider"].send_keys(Keys.HOME)
    # In one script, so that nothing is drawn between the clicks.
    written = page.run(
        "return Array.from({length: arguments[0]}, () => {"
        "$('fewer').click(); return $('exact').value; })",
        len(model.modes_) - 1,
    )
    assert len(set(written)) == len(written)
    levels = np.sort(model.merge_tree_.prominence)
    for text, below, above in zip(written, levels, levels[1:], strict=False):
        assert below < float(text) <= above
        digits = len(text.replace(".", "").lstrip("0").split("e")[0])
        assert digits <= 2 + max(0, np.ceil(np.log10(above / (above - below))))


@pytest.fixture(scope="module")
def named(fitted):
    """A model with few clusters, and its rows."""
    _, X = fitted
    return ModeClustering(KernelDensityGradient(0.6), n_clusters=3).fit(X), X


@pytest.fixture(scope="module")
def told_file(named, tmp_path_factory):
    """A page with a map, names and columns of the user's own."""
    model, X = named
    angle = np.linspace(0, 20, len(X))
    return write_report(
        tmp_path_factory.mktemp("told") / "told.html",
        model,
        X,
        feature_names=[
            "width",
            "a name of so many letters that no screen is wide",
            "x",
        ],
        embedding=np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]),
        row_names=[f"<i>row</i> no. {i}" for i in range(len(X))],
        hover={"kind": np.where(X[:, 0] > 0, "right", "left"), "large": X[:, 0] * 1e4},
        cluster_names={0: "<u>largest</u>", 2: "least"},
    )


@pytest.fixture
def told(driver, told_file, named, tmp_path):
    return Page(driver, told_file, tmp_path, len(named[1]))


def test_page_opens_with_the_map_that_is_given(told, named):
    shown = told.run("return Array.from(data.shown)")
    x, y = told.run("const t = $('scatter').data[0]; return [t.x, t.y]")
    angle = np.linspace(0, 20, len(named[1]))[shown]
    np.testing.assert_allclose(x, angle * np.cos(angle), atol=1e-5)
    np.testing.assert_allclose(y, angle * np.sin(angle), atol=1e-5)
    # Nobody knows the way of rows there.
    assert not told["play"].is_enabled()
    assert "other axes" in told["climbers"].text
    told.run("$('across').value = 0; $('up').value = 1; drawRows()")
    assert told["play"].is_enabled()


def test_rows_tell_their_names_and_columns(told, named):
    _, X = named
    text = told.run("return $('scatter').data[0].text")
    row = told.run("return data.shown[7]")
    label = told.run("return nameOf(clusterOf(arguments[0]))", row)
    kind = "right" if X[row, 0] > 0 else "left"
    number = 1e4 * X[row, 0]
    number = f"{number:.0f}" if abs(number) >= 1000 else f"{number:.4g}"
    name = f"<b>&lt;i&gt;row&lt;/i&gt; no. {row}</b>"
    label = label.replace("<", "&lt;").replace(">", "&gt;")
    assert text[7].split("<br>") == [name, label, f"kind: {kind}", f"large: {number}"]


def test_rows_are_found_by_their_names(told):
    told["find"].send_keys("No. 12")
    told.settle()
    opacity = np.array(told.run("return $('scatter').data[0].marker.opacity"))
    names = [f"no. {i}" for i in told.run("return Array.from(data.shown)")]
    np.testing.assert_array_equal(opacity == 1, ["no. 12" in name for name in names])
    assert told["matches"].text == f"{sum(opacity == 1)} found"
    told["find"].send_keys(Keys.BACKSPACE * 6)
    told.settle()
    assert set(told.run("return $('scatter').data[0].marker.opacity")) == {0.8}


def test_rows_are_coloured_by_what_is_chosen(told, named):
    model, X = named
    options = told.run("return Array.from($('paint').options, (o) => o.text)")
    assert options[:4] == ["cluster", "kind", "large", "width"]
    shown = told.run("return Array.from(data.shown)")
    choose = "$('paint').value = arguments[0]; drawRows()"
    marker = "return $('scatter').data[0].marker"
    told.run(choose, "2")
    found = told.run(marker)
    np.testing.assert_allclose(found["color"], X[shown, 0], atol=1e-3)
    assert found["colorbar"]["title"]["text"] == "width"
    low, high = np.quantile(X[shown, 0], [0.01, 0.99])
    assert found["cmin"] == pytest.approx(low, abs=0.1)
    assert found["cmax"] == pytest.approx(high, abs=0.1)
    told.run(choose, "0")
    right = X[shown, 0] > 0
    colors = np.array(told.run(marker)["color"])
    assert len(set(colors[right])) == len(set(colors[~right])) == 1
    assert colors[right][0] != colors[~right][0]
    sizes = {f"right ({right.sum()})", f"left ({(~right).sum()})"}
    entries = "return Array.from($('key').children, (entry) => entry.textContent)"
    assert set(told.run(entries)) == sizes
    told.run(choose, "")
    assert told.run(entries) == []
    assert len(set(told.run(marker)["color"])) == model.n_clusters_


def test_islands_have_names_and_sizes(told, named):
    model, _ = named
    told.run("$('across').value = 0; $('up').value = 1; drawRows()")
    sizes = np.bincount(model.labels_)
    names = ["&lt;u&gt;largest&lt;/u&gt;", "cluster 1", "least"]
    expected = [
        f"<b>{name}</b><br>{size} rows" for name, size in zip(names, sizes, strict=True)
    ]
    assert told.run("return $('scatter').data[3].text") == expected
    about = told.run("return $('scatter').data[3].hovertext[1].split('<br>')")
    assert about[0] == "<b>cluster 1</b>"
    assert about[1] == f"{sizes[1]} rows, {100 * sizes[1] / sizes.sum():.1f} %"
    said = told.run("return $('clusters').tBodies[0].rows[1].cells[5].textContent")
    assert ", ".join(about[2:]) == said
    feet = told.run("return document.getElementById('tree').layout.xaxis.ticktext")
    assert "cluster 1" not in feet
    assert f"least<br>{sizes[2]}" in feet
    # A name stays with its mode where the cluster of that mode grows.
    told.run("setLevel(1e9)")
    top = int(np.argmax(model.merge_tree_.heights))
    of_top = int(model.mode_labels_[top])
    plain = {0: "<u>largest</u>", 1: "cluster 0", 2: "least"}
    assert told.run("return nameOf(0)") == plain[of_top]


def test_dark_and_light_are_a_click_apart(driver, page):
    def seen():
        page.settle()
        body = page.run("return getComputedStyle(document.body).backgroundColor")
        chart = page.run("return $('scatter').layout.paper_bgcolor")
        marks = page.run("return $('scatter').data[0].marker.color[0]")
        return body, chart, marks

    light = seen()
    page["theme"].click()
    dark = seen()
    assert all(a != b for a, b in zip(light, dark, strict=True))
    page["theme"].click()
    assert seen() == light
    scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    try:
        assert seen() == light  # as chosen
        driver.refresh()
        page.wait_for(lambda: page.run("return document.body.dataset.ready"))
        assert seen() == dark
        # Paper is white, whatever the screen is.
        page.run("dispatchEvent(new Event('beforeprint'))")
        assert page.run("return $('tree').layout.paper_bgcolor") == light[1]
        page.run("dispatchEvent(new Event('afterprint'))")
        assert seen() == dark
    finally:
        scheme["features"][0]["value"] = ""
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)


@pytest.mark.parametrize("width", [360, 400, 1400])
def test_nothing_is_wider_than_the_screen(driver, told_file, named, tmp_path, width):
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1}
    screen["mobile"] = width < 600
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        page = Page(driver, told_file, tmp_path, len(named[1]))
        page.settle()
        wide = page.run("return document.documentElement.scrollWidth")
        assert wide <= width == page.run("return innerWidth")
        table = page.run("const t = $('clusters'); return [t.scrollWidth, innerWidth]")
        assert table[0] <= table[1]
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_no_button_sends_the_data_away(page):
    titles = page.run(
        "return Array.from(document.querySelectorAll('.modebar-btn'),"
        " (b) => b.dataset.title)"
    )
    assert titles
    assert not [title for title in titles if "loud" in title or "dit" in title]


def test_single_mode_has_nothing_to_cut(driver, tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 2))
    model = ModeClustering(KernelDensityGradient(2.0)).fit(X)
    assert len(model.modes_) == 1
    file = write_report(tmp_path / "one.html", model, X)
    page = Page(driver, file, tmp_path / "downloads", len(X))
    (tmp_path / "downloads").mkdir()
    assert not page["slider"].is_enabled()
    np.testing.assert_array_equal(page.download(), np.zeros(300))
    assert driver.get_log("browser") == []

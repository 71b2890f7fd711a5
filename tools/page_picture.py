"""Draw the picture of the web page that README shows: docs/pictures/report.png.

Needs Chromium and its driver, as the tests of the page do.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from sklearn.datasets import load_wine

from modeseek import ModeClustering
from modeseek.report import write_report

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "report.png"
WIDTH, HEIGHT = 1200, 1185


def main() -> None:
    """Write the page of the wines, open it and take its picture."""
    X = load_wine(as_frame=True).data
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument(f"--window-size={WIDTH},{HEIGHT}")
    with tempfile.TemporaryDirectory() as folder:
        page = write_report(
            Path(folder) / "wines.html",
            ModeClustering().fit(X),
            X,
            row_names=[f"bottle {i}" for i in range(len(X))],
            title="178 wines",
        )
        service = Service(shutil.which("chromedriver"))
        driver = webdriver.Chrome(options=options, service=service)
        size = {"width": WIDTH, "height": HEIGHT}
        screen = {**size, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        driver.get(page.as_uri())
        while not driver.execute_script("return document.body.dataset.ready"):
            time.sleep(0.1)
        time.sleep(1.0)
        driver.execute_script(  # a row under the mouse
            "const map = document.getElementById('scatter');"
            "Plotly.Fx.hover(map, [{curveNumber: 0, pointNumber: 143}]);"
        )
        time.sleep(1.0)
        driver.save_screenshot(str(PICTURE))
        driver.quit()


if __name__ == "__main__":
    main()

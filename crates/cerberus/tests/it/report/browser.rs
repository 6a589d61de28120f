//! The report in a real Chromium, over WebDriver. Runs if `chromium` and `chromedriver` are installed (`dev/browser`);
//! with `CERBERUS_BROWSER=1` it must. With `CERBERUS_SCREENSHOTS=DIR`, pictures of the report are saved there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use super::{SECTIONS, looped, made};
use crate::env;

const CHROMIUM: &str = "/usr/bin/chromium";
const DRIVER: &str = "/usr/bin/chromedriver";

/// A browser that shows one page.
struct Browser {
    driver: Child,
    session: String,
}

impl Browser {
    /// `None` if there is none and none is required.
    fn start(env: &TestEnv) -> Option<Browser> {
        if !Path::new(CHROMIUM).exists() || !Path::new(DRIVER).exists() {
            let is_required = std::env::var_os("CERBERUS_BROWSER").is_some();
            assert!(!is_required, "{CHROMIUM} and {DRIVER} are not installed; dev/browser installs them");
            return None;
        }
        let mut command = env.command_for(DRIVER);
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = command.spawn().expect("the driver starts");
        let mut lines = BufReader::new(driver.stdout.take().expect("standard output is a pipe")).lines();
        let started = lines.find_map(|line| Some(line.ok()?.split_once("successfully on port ")?.1.to_string()));
        // It writes to the pipe as long as it lives.
        std::thread::spawn(move || lines.for_each(drop));
        let port = started.expect("the driver says its port").trim_end_matches('.').to_string();
        let profile = format!("--user-data-dir={}", env.root().join("chromium").display());
        let options = json!({
            "binary": CHROMIUM,
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--hide-scrollbars", profile],
        });
        let logs = json!({"browser": "ALL", "performance": "ALL"});
        let wanted = json!({"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs});
        let url = format!("http://127.0.0.1:{port}/session");
        let mut browser = Browser { driver, session: url.clone() };
        let started = browser.post("", &json!({"capabilities": {"alwaysMatch": wanted}}));
        browser.session = format!("{url}/{}", started["sessionId"].as_str().expect("a session has an id"));
        Some(browser)
    }

    fn post(&self, command: &str, body: &Value) -> Value {
        let url = format!("{}{command}", self.session);
        let reply = ureq::post(&url).header("content-type", "application/json").send(body.to_string());
        let reply = reply.and_then(|mut reply| reply.body_mut().with_config().limit(64 << 20).read_to_string());
        let reply = reply.unwrap_or_else(|error| panic!("{command} {body}: {error}"));
        serde_json::from_str::<Value>(&reply).expect("the driver answers in JSON")["value"].take()
    }

    fn show(&self, file: &Path) {
        self.post("/url", &json!({"url": format!("file://{}", file.display())}));
    }

    /// The value of a JavaScript expression.
    fn value(&self, expression: &str) -> Value {
        self.post("/execute/sync", &json!({"script": format!("return {expression}"), "args": []}))
    }

    fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    fn resize(&self, width: u32) {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size);
    }

    fn media(&self, media: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"media": media, "features": features}));
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        self.post("/se/log", &json!({"type": kind})).as_array().expect("a log is a list").clone()
    }

    /// The addresses of everything that was requested since the last call.
    fn requested(&self) -> Vec<String> {
        let message = |entry: Value| serde_json::from_str::<Value>(entry["message"].as_str()?).ok();
        let events = self.log("performance").into_iter().filter_map(message).map(|event| event["message"].clone());
        let requests = events.filter(|event| event["method"] == "Network.requestWillBeSent");
        requests.map(|event| event["params"]["request"]["url"].to_string()).collect()
    }

    /// Saves a picture of the page down to `height`, if pictures are wanted.
    fn picture(&self, name: &str, width: u32, height: u32) {
        let Some(folder) = std::env::var_os("CERBERUS_SCREENSHOTS") else { return };
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let made = self.devtools("Page.captureScreenshot", json!({"captureBeyondViewport": true, "clip": clip}));
        // Base64, as the driver sends it; whoever wants the picture decodes it.
        fs::write(Path::new(&folder).join(name), made["data"].as_str().unwrap_or_default()).unwrap();
    }

    fn is_wider_than_the_window(&self) -> bool {
        self.value("document.documentElement.scrollWidth > document.documentElement.clientWidth") == json!(true)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

#[test]
fn a_browser_renders_every_section_and_loads_nothing() {
    let mut env = env();
    let Some(browser) = Browser::start(&env) else { return };
    made::import(&env, 140, 170);
    made::crashed(&mut env);
    made::told(&env);
    looped::looped(&env);
    let file = env.root().join("report.html");
    env.ok(&["report", "-o", file.to_str().unwrap()]);
    browser.resize(1200);
    browser.media("", "light");
    browser.requested();
    browser.show(&file);
    for id in SECTIONS {
        let height = browser.value(&format!("document.getElementById('{id}').getBoundingClientRect().height"));
        assert!(height.as_f64().unwrap() > 100.0, "{id}: {height}");
    }
    let drawn = "Array.from(document.querySelectorAll('figure > svg')).every(svg => svg.getBBox().width > 100)";
    assert_eq!(browser.value(drawn), json!(true), "every chart is drawn");
    let names =
        "Array.from(document.querySelectorAll('figure > svg')).every(svg => svg.querySelector('title').textContent)";
    assert_eq!(browser.value(names), json!(true), "every chart has a name");
    assert_eq!(browser.value("getComputedStyle(document.body).maxWidth"), json!("1152px"), "the style applies");
    assert!(!browser.is_wider_than_the_window());
    let paper = || browser.value("getComputedStyle(document.body).backgroundColor");
    let light = paper();
    browser.picture("light", 1200, 1240);
    browser.media("", "dark");
    assert_ne!(paper(), light, "it follows the system");
    browser.picture("dark", 1200, 2600);
    browser.media("print", "dark");
    assert_eq!(paper(), light, "paper is white");
    browser.media("", "light");
    browser.resize(360);
    browser.picture("phone", 360, 4200);
    assert!(!browser.is_wider_than_the_window(), "at 360 pixels");
    browser.value("document.querySelectorAll('details').forEach(one => one.open = true)");
    assert!(!browser.is_wider_than_the_window(), "at 360 pixels with all details");
    browser.picture("phone-open", 360, 4000);
    let smallest = "Math.min(...Array.from(document.querySelectorAll('figure > svg text')).map(text => \
        parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a))";
    let smallest = browser.value(smallest);
    assert!(smallest.as_f64().unwrap() >= 8.5, "text in charts is readable at 360 pixels: {smallest}");
    let page = format!("\"file://{}\"", file.display());
    assert_eq!(browser.requested(), [page], "nothing but the page itself is requested");
    assert_eq!(browser.log("browser"), [""; 0], "the console is empty");
}

//! A headless Chromium, driven through its DevTools protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// How a page is looked at.
#[derive(Clone, Copy)]
pub struct Screen {
    pub width: u32,
    pub scheme: &'static str,
}

/// A browser with one tab. It ends when it is dropped.
pub struct Browser {
    process: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    next_id: u64,
    /// What went wrong in the page: exceptions, console and log entries, refused requests.
    pub complaints: Vec<String>,
    /// Addresses the page asked for, itself and `data:` left out.
    pub requests: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub fn start() -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new("chromium")
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--no-first-run"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("this test needs Chromium: apt-get install chromium");
        let mut said = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = said
            .by_ref()
            .find_map(|line| Some(line.ok()?.split_once("listening on ")?.1.to_owned()))
            .expect("Chromium ended without an address for its DevTools");
        // A full pipe would stop the browser.
        std::thread::spawn(move || said.for_each(drop));
        let (mut socket, _) = tungstenite::connect(address.trim()).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_mut() {
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        }
        let mut browser = Browser {
            process,
            socket,
            session: String::new(),
            next_id: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let session = browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a file as this screen shows it, and waits until its code has run.
    pub fn open(&mut self, file: &Path, screen: Screen) {
        let size =
            json!({ "width": screen.width, "height": 900, "deviceScaleFactor": 1, "mobile": screen.width < 500 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": screen.scheme }] });
        self.call("Emulation.setEmulatedMedia", features);
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        for _ in 0..600 {
            if self.evaluate("document.documentElement?.dataset.ready === 'yes'") == json!(true) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the page's code did not run: {:?}", self.complaints);
    }

    pub fn evaluate(&mut self, expression: &str) -> Value {
        let result = self
            .call("Runtime.evaluate", json!({ "expression": expression, "awaitPromise": true, "returnByValue": true }));
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let mut message = json!({ "id": self.next_id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().expect("the browser answers") else { continue };
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == json!(self.next_id) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled") => {
                self.complaints.push(params.to_string())
            }
            Some("Network.requestWillBeSent") => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with("data:") && !url.starts_with("blob:") && !url.ends_with(".html") {
                    self.requests.push(url.to_owned());
                }
            }
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.socket.close(None);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! Each failure is one log line with its party and reason, and one metric.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::subscriber::DefaultGuard;

use super::attacks::{callback_url_for, parameter};
use super::federation::{SECRET, redirect_uri};
use super::high::Publisher;
use super::hub::TestHub;
use super::service::Authorize;

/// The log of this test while the value exists.
pub(super) struct Log {
    bytes: Bytes,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(super) fn begin() -> Self {
        Self::begin_at(tracing::Level::INFO)
    }

    pub(super) fn begin_at(level: tracing::Level) -> Self {
        let bytes = Bytes::default();
        let writer = bytes.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(level)
            .flatten_event(true)
            .with_writer(move || writer.clone())
            .finish();
        Self { bytes, _guard: tracing::subscriber::set_default(subscriber) }
    }

    /// Returns the hub's own lines since the last call.
    pub(super) fn take_lines(&self) -> Vec<Value> {
        let bytes = std::mem::take(&mut *self.bytes.0.lock().unwrap());
        let lines = String::from_utf8(bytes).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .filter(|line| {
                line["target"].as_str().is_some_and(|target| target.starts_with("passerelle"))
            })
            .collect()
    }
}

#[actix_web::test]
async fn a_failed_client_authentication_is_one_line_with_the_client_id_and_the_reason() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let received = page.consent().await.received();
    let log = Log::begin();

    let ask = async |service: &str, secret: &str| {
        let body = format!(
            "grant_type=authorization_code&client_id={service}&client_secret={secret}&code={}&redirect_uri={}",
            received.code(),
            url::form_urlencoded::byte_serialize(redirect_uri("bakery").as_bytes())
                .collect::<String>()
        );
        let form = ("content-type", "application/x-www-form-urlencoded");
        let request = actix_web::test::TestRequest::post()
            .uri("/api/v2/token")
            .insert_header(form)
            .set_payload(body);
        hub.send(request).await.status
    };
    assert_eq!(ask("bakery", "a-wrong-secret").await, 401);
    let lines = log.take_lines();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(
        (&line["code"], &line["client_id"]),
        (&Value::from("Y041002"), &Value::from("bakery"))
    );
    assert_eq!(line["reason"], "the secret is not one of the client's secrets");

    assert_eq!(ask("an-unknown-name", "a-wrong-secret").await, 401);
    let lines = log.take_lines();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&line["code"], line.get("client_id")), (&Value::from("Y041050"), None));
    // The field may contain anything, also a secret.
    assert!(!line.to_string().contains("an-unknown-name"), "{line}");

    // The code of another client: the client that sends it is known.
    assert_eq!(ask("library", &SECRET.replace(' ', "+")).await, 400);
    let lines = log.take_lines();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(
        (&line["code"], &line["client_id"]),
        (&Value::from("Y042003"), &Value::from("library"))
    );

    let metrics = hub.metrics.render();
    for expected in [
        r#"client="bakery",error="Y041002""#,
        r#"client="(unknown)",error="Y041050""#,
        r#"client="library",error="Y042003""#,
    ] {
        assert!(
            metrics.contains(&format!("passerelle_token_request_errors_total{{{expected}}} 1\n")),
            "{expected} is missing in\n{metrics}"
        );
    }
}

/// RFC 9207: it may be a mix-up attack.
#[actix_web::test]
async fn a_callback_of_another_issuer_is_one_line_with_the_connector() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let callback = callback_url_for(&browser, "amandier", "angela").await;
    let without_iss = &callback[..callback.rfind("&iss=").unwrap()];
    for (forged, code, level) in [
        (format!("{without_iss}&iss=https%3A%2F%2Fevil.example"), "Y020024", "ERROR"),
        (without_iss.to_owned(), "Y020023", "WARN"),
    ] {
        let browser = hub.browser();
        let state = parameter(&callback_url_for(&browser, "amandier", "angela").await, "state");
        let forged = forged.replace(&parameter(&forged, "state"), &state);
        let log = Log::begin();
        browser.open(&forged).await.assert_error(200, code);
        let lines = log.take_lines();
        let of_code: Vec<_> = lines.iter().filter(|line| line["code"] == code).collect();
        let [line] = of_code[..] else { panic!("{lines:?}") };
        assert_eq!((&line["level"], &line["connector"]), (&level.into(), &"amandier".into()));
    }
}

#[actix_web::test]
async fn a_client_rejected_at_introspection_or_revocation_is_one_line_too() {
    let hub = super::introspection::hub().await;
    let log = Log::begin();
    for (path, client_id, code) in
        [("checktoken", "archive", "Y330004"), ("token/revocation", "bakery", "Y041002")]
    {
        let body = format!("client_id={client_id}&client_secret=a-wrong-secret&token=some");
        let form = ("content-type", "application/x-www-form-urlencoded");
        let request = actix_web::test::TestRequest::post().uri(&format!("/api/v2/{path}"));
        assert_eq!(hub.send(request.insert_header(form).set_payload(body)).await.status, 401);
        let lines = log.take_lines();
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(line["code"], code);
        assert_eq!(line["client_id"], client_id);
    }
}

/// A file that stays invalid is not logged again at each scan.
#[actix_web::test]
async fn a_bad_file_is_one_line_when_it_turns_bad_and_one_when_it_is_fixed() {
    let hub = TestHub::start().await;
    hub.reload_files().await;
    let log = Log::begin();
    let file = hub.folder().join("connectors/amandier.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    let read = async || {
        hub.reload_files().await;
        let lines = log.take_lines();
        lines.into_iter().filter(|line| line.get("file").is_some()).collect::<Vec<_>>()
    };
    for (bad, expected) in [
        ("name = 3\nlevels = 4\n[kind.nonsense]\n", "kind.nonsense"),
        ("name = \n", "is not valid TOML"),
    ] {
        std::fs::write(&file, bad).unwrap();
        let lines = read().await;
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(
            (&line["level"], &line["file"]),
            (&Value::from("ERROR"), &Value::from(file.display().to_string()))
        );
        assert!(line["error"].as_str().unwrap().contains(expected), "{line}");
        assert_eq!(read().await, [] as [Value; 0]);
    }
    std::fs::write(&file, good).unwrap();
    let lines = read().await;
    assert!(matches!(lines.as_slice(), [line] if line["level"] == "INFO"), "{lines:?}");

    let settings = hub.folder().join("passerelle.toml");
    std::fs::write(&settings, std::fs::read_to_string(&settings).unwrap() + "# another\n").unwrap();
    hub.reload_files().await;
    let lines = log.take_lines();
    assert!(
        lines
            .iter()
            .any(|line| line["message"].as_str().unwrap().contains("passerelle.toml has changed")),
        "{lines:?}"
    );
}

#[actix_web::test]
async fn unfetchable_keys_log_one_line_and_leave_the_gauge_unchanged() {
    let publisher = Publisher::start();
    let hub = TestHub::high(&[("vault", publisher.file())]).await;
    let log = Log::begin();
    let fetched = || {
        let metrics = hub.metrics.render();
        let line = "passerelle_client_keys_last_fetch_timestamp_seconds{client=\"vault\"} ";
        metrics.lines().find_map(|found| found.strip_prefix(line)?.parse::<f64>().ok()).unwrap()
    };
    let once = |what: &str| {
        let lines = log.take_lines();
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(
            (&line["level"], &line["client_id"]),
            (&Value::from("WARN"), &Value::from("vault"))
        );
        assert!(line["error"].as_str().unwrap().contains("503"), "{line}");
        assert!(line["message"].as_str().unwrap().contains(what), "{line}");
    };
    hub.refresh_client_keys().await;
    once("no copy yet");
    assert_eq!(fetched().to_bits(), 0.0_f64.to_bits());

    publisher.publishes_some();
    hub.refresh_client_keys().await;
    assert_eq!(log.take_lines(), [] as [Value; 0]);
    let before = fetched();
    assert!(before > 0.0);

    publisher.publishes_nothing();
    hub.advance(std::time::Duration::from_secs(3600));
    hub.refresh_client_keys().await;
    once("using the last good copy");
    assert_eq!(fetched().to_bits(), before.to_bits());
    let metrics = hub.metrics.render();
    for (outcome, times) in [("bad_status", 2), ("ok", 1)] {
        let line = format!(
            "passerelle_client_key_fetches_total{{client=\"vault\",outcome=\"{outcome}\"}} {times}\n"
        );
        assert!(metrics.contains(&line), "{line} is missing in\n{metrics}");
    }
}

#[actix_web::test]
async fn a_proxy_that_the_configuration_does_not_name_is_one_line_without_an_address() {
    let hub = TestHub::start().await;
    let log = Log::begin();
    for client in ["203.0.113.7", "203.0.113.8"] {
        let request = actix_web::test::TestRequest::get().uri(&Authorize::by("bakery").url());
        hub.send(request.insert_header(("x-forwarded-for", client))).await;
    }
    let lines = log.take_lines();
    assert!(!format!("{lines:?}").contains("203.0.113"), "{lines:?}");
    let is_advice = |line: &&Value| {
        line["message"].as_str().is_some_and(|message| message.contains("public.trusted_proxies"))
    };
    let advice: Vec<&Value> = lines.iter().filter(is_advice).collect();
    assert_eq!(advice.len(), 1, "{lines:?}");
    assert_eq!(advice[0]["level"], "WARN");
}

//! An identity provider that hangs or fails: what users see, and that logins at other identity
//! providers go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::test::TestRequest;
use passerelle_testkit::wait::wait_for;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use url::Url;

use super::browser::{Browser, Page};
use super::hub::TestHub;
use super::service::Authorize;

/// An identity provider that serves its documents and answers each code with 500.
#[derive(Clone, Default)]
pub(super) struct FailingIdp(Arc<State>);

#[derive(Default)]
struct State {
    /// Calls with a code wait for `release`.
    hangs: AtomicBool,
    release: Notify,
    codes: AtomicUsize,
    call_arrived: Notify,
    /// The hub has answered every browser whose code hangs.
    all_answered: AtomicBool,
}

impl FailingIdp {
    /// Starts the server. Returns the connector's file.
    pub(super) async fn start(&self, limits: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let (idp, base) = (self.clone(), issuer.clone());
        actix_web::rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (idp, base) = (idp.clone(), base.clone());
                actix_web::rt::spawn(async move { idp.serve(stream, &base).await });
            }
        });
        format!(
            r#"
name = {{ en = "Failing account" }}
identity = "verified"
levels = {{ lowest = "eidas1", highest = "eidas1" }}
acr = {{ eidas1 = ["eidas1"] }}
{limits}
[kind.oidc]
issuer = "{issuer}"
client_id = "hub"
client_secret = {{ env = "CLIENT_SECRET" }}
insecure_http = true
internal_hosts = ["127.0.0.1"]
"#
        )
    }

    async fn serve(&self, mut stream: TcpStream, base: &str) -> Option<()> {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut chunk = [0; 4096];
            let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
            head.extend_from_slice(&chunk[..read]);
        }
        let target = String::from_utf8_lossy(&head).split(' ').nth(1)?.to_owned();
        let (status, body) = match target.as_str() {
            "/.well-known/openid-configuration" => (200, documents(base)),
            "/jwks" => (200, KEYS.to_owned()),
            _ => {
                let released = self.0.release.notified();
                self.0.codes.fetch_add(1, Ordering::SeqCst);
                self.0.call_arrived.notify_one();
                if self.0.hangs.load(Ordering::SeqCst) {
                    released.await;
                }
                (500, String::new())
            }
        };
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await.ok()
    }

    /// Returns how many codes have arrived.
    pub(super) fn redeemed_codes(&self) -> usize {
        self.0.codes.load(Ordering::SeqCst)
    }

    /// Waits until this many codes have arrived.
    async fn wait_for_codes(&self, codes: usize) {
        while self.0.codes.load(Ordering::SeqCst) < codes {
            assert!(!self.0.all_answered.load(Ordering::SeqCst), "the hub answered without a call");
            self.0.call_arrived.notified().await;
        }
    }
}

/// The example of RFC 7517, appendix A.1.
const KEYS: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;

/// Where its metadata say that users sign out.
pub(super) const LOGOUT_PAGE: &str = "https://leave.failing.example/";

fn documents(base: &str) -> String {
    serde_json::json!({
        "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
        "jwks_uri": format!("{base}/jwks"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"], "end_session_endpoint": LOGOUT_PAGE,
    })
    .to_string()
}

/// Chooses the identity provider. Returns the callback address to which it would send the browser.
pub(super) async fn choose_idp(browser: &Browser<'_>) -> String {
    let page = browser.authorize(&Authorize::by("bakery")).await;
    callback_url(page.choose("failing").await)
}

/// Performs a login from network `number` whose code is answered with 500.
async fn fail(hub: &TestHub, number: u8) {
    let browser = hub.browser();
    let back = choose_idp(&browser).await;
    let peer = format!("198.51.{number}.1:40000").parse().unwrap();
    let answer = browser.send(TestRequest::get().uri(&back).peer_addr(peer)).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
}

fn callback_url(away: Page<'_>) -> String {
    let url = Url::parse(&away.url).unwrap();
    let state = url.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    format!("/api/v2/callback/failing?code=made-up&state={state}")
}

#[actix_web::test]
async fn a_hanging_identity_provider_takes_no_capacity_from_another() {
    let idp = FailingIdp::default();
    idp.0.hangs.store(true, Ordering::SeqCst);
    let file = idp.start("limits = { calls = 3, queue = 0 }").await;
    // As many steps at once as that identity provider may have calls.
    let hub =
        TestHub::with_files("limits.steps_in_flight = 3", &[("connectors/failing.toml", file)])
            .await;
    let held = [hub.browser(), hub.browser(), hub.browser()];
    let (fourth, other, late) = (hub.browser(), hub.browser(), hub.browser());
    let back = [choose_idp(&held[0]).await, choose_idp(&held[1]).await, choose_idp(&held[2]).await];
    let fourth_back = choose_idp(&fourth).await;
    let all =
        async || tokio::join!(held[0].get(&back[0]), held[1].get(&back[1]), held[2].get(&back[2]));

    let hanging = async {
        let pages = all().await;
        idp.0.all_answered.store(true, Ordering::SeqCst);
        idp.0.call_arrived.notify_one();
        pages
    };
    let meanwhile = async {
        idp.wait_for_codes(3).await;
        // The limit is for one identity provider: a fourth login there is refused at once, and logins
        // at others go on.
        fourth
            .open(&fourth_back)
            .await
            .assert_error(200, "Y020011")
            .finish_as("angela")
            .await
            .belongs_to("bakery");
        other
            .authorize(&Authorize::by("library"))
            .await
            .finish_as("jean")
            .await
            .belongs_to("library");
        // Users who reload wait for the same answer, and take no capacity either.
        let library_logins = async {
            for _ in 0..500 {
                if late.authorize(&Authorize::by("library")).await.is_choice() {
                    break;
                }
                // The reloads run on this thread.
                tokio::task::yield_now().await;
            }
            assert!(!idp.0.all_answered.load(Ordering::SeqCst));
            late.authorize(&Authorize::by("library"))
                .await
                .finish_as("jean")
                .await
                .belongs_to("library");
            idp.0.release.notify_waiters();
        };
        tokio::join!(all(), library_logins).0
    };
    let (first, reloaded) = tokio::join!(hanging, meanwhile);
    for answer in [first.0, first.1, first.2, reloaded.0, reloaded.1, reloaded.2] {
        assert_eq!(answer.status, 303);
    }
    for (browser, back) in held.iter().zip(&back) {
        let page = browser.open(back).await;
        // On a slow machine the call times out before the provider answers.
        let code = page.code();
        assert!(
            page.is_choice() && ["Y020005", "Y020004"].contains(&code.as_str()),
            "{code} at {}",
            page.url
        );
    }
    assert_eq!(idp.0.codes.load(Ordering::SeqCst), 3, "a code is sent once");
}

#[actix_web::test]
async fn a_failing_identity_provider_is_disabled_and_last_and_offered_again_after_a_pause() {
    let idp = FailingIdp::default();
    let file = idp.start("").await;
    let order = "choice.order = [\"failing\", \"amandier\", \"belvedere\", \"closed\"]";
    let hub = TestHub::edited(|folder| {
        super::federation::put(folder, "connectors/failing.toml", file.as_bytes());
        let path = folder.join("passerelle.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let former =
            settings.lines().find(|line| line.starts_with("choice.order")).unwrap().to_owned();
        std::fs::write(&path, settings.replace(&former, order)).unwrap();
    })
    .await;
    let browser = hub.browser();
    let choice_page = async || browser.authorize(&Authorize::by("bakery")).await;
    let offered = async || {
        let browser = hub.browser();
        browser.authorize(&Authorize::by("bakery")).await.offered()
    };
    assert_eq!(offered().await, ["failing", "amandier", "belvedere"]);
    // Failures from one network count once: they disable no provider.
    for _ in 0..7 {
        fail(&hub, 1).await;
    }
    assert_eq!(offered().await, ["failing", "amandier", "belvedere"]);
    for network in 2..6 {
        fail(&hub, network).await;
    }
    wait_for("five networks failed, so the provider is disabled", async || {
        (offered().await == ["amandier", "belvedere"]).then_some(())
    })
    .await;

    let page = choice_page().await;
    assert_eq!(page.offered(), ["amandier", "belvedere"]);
    assert!(page.answer.body.contains(
        "<span><bdi>Failing account</bdi></span><span class=\"small quiet\">Out of order at the moment</span>"
    ));
    let (closed, failing) =
        (page.answer.body.find("Closed account"), page.answer.body.find("Failing account"));
    assert!(closed < failing, "it is last");
    // A forged choice, or the service provider's hint, gets the error at once.
    let forged_choice = page.form("/provider").with("provider", "failing");
    browser
        .submit(&forged_choice)
        .await
        .assert_error(200, "Y020100")
        .finish_as("angela")
        .await
        .belongs_to("bakery");
    let hinted = hub.browser();
    let page = hinted.authorize(&Authorize::by("bakery").with("idp_hint", "failing")).await;
    assert_eq!(page.received().error_at("bakery"), "temporarily_unavailable");

    // Its documents can be fetched, and the minimum time is over: users may try it.
    wait_for("the provider is offered again", async || {
        hub.advance(Duration::from_secs(5));
        offered().await.contains(&"failing".to_owned()).then_some(())
    })
    .await;
    let page = choice_page().await;
    assert_eq!(
        page.offered(),
        ["amandier", "belvedere", "failing"],
        "it may be tried, and is last"
    );
    assert!(page.answer.body.contains("Had a problem a moment ago"));
}

//! An identity provider in trouble: what people see of it, and that it harms no other
//! (architecture, rule 4).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::test::TestRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use url::Url;

use super::browser::{Browser, Page};
use super::hub::TestHub;
use super::service::Authorize;

/// An identity provider that has documents and refuses every code.
#[derive(Clone, Default)]
struct Sick(Arc<State>);

#[derive(Default)]
struct State {
    /// Calls with a code wait for `release`.
    hangs: AtomicBool,
    release: Notify,
    codes: AtomicUsize,
    asked: Notify,
    /// Those who were to hang have their pages.
    is_over: AtomicBool,
}

impl Sick {
    /// Listens, and gives the connector's file.
    async fn start(&self, limits: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let (sick, base) = (self.clone(), issuer.clone());
        actix_web::rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (sick, base) = (sick.clone(), base.clone());
                actix_web::rt::spawn(async move { sick.serve(stream, &base).await });
            }
        });
        format!(
            r#"
name = {{ en = "Sick account" }}
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
                self.0.asked.notify_one();
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

    /// Until so many codes have come in.
    async fn has_got(&self, codes: usize) {
        while self.0.codes.load(Ordering::SeqCst) < codes {
            assert!(!self.0.is_over.load(Ordering::SeqCst), "they were answered without a call");
            self.0.asked.notified().await;
        }
    }
}

/// The example of RFC 7517, appendix A.1.
const KEYS: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;

fn documents(base: &str) -> String {
    serde_json::json!({
        "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
        "jwks_uri": format!("{base}/jwks"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
    .to_string()
}

/// Leaves for the identity provider; gives the address that it sends the browser back to.
async fn leave(browser: &Browser<'_>) -> String {
    let page = browser.authorize(&Authorize::by("bakery")).await;
    way_back(page.choose("sick").await)
}

/// A login by a browser in network `number` whose code is refused with 500.
async fn fail(hub: &TestHub, number: u8) {
    let browser = hub.browser();
    let back = leave(&browser).await;
    let peer = format!("198.51.{number}.1:40000").parse().unwrap();
    let answer = browser.send(TestRequest::get().uri(&back).peer_addr(peer)).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
}

fn way_back(away: Page<'_>) -> String {
    let left = Url::parse(&away.url).unwrap();
    let state = left.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    format!("/api/v2/callback/sick?code=made-up&state={state}")
}

#[actix_web::test]
async fn a_hanging_identity_provider_takes_no_capacity_from_another() {
    let sick = Sick::default();
    sick.0.hangs.store(true, Ordering::SeqCst);
    let file = sick.start("limits = { calls = 3, queue = 0 }").await;
    // As many places as that identity provider may have calls.
    let hub =
        TestHub::with_files("limits.steps_in_flight = 3", &[("connectors/sick.toml", file)]).await;
    let held = [hub.browser(), hub.browser(), hub.browser()];
    let (fourth, other, late) = (hub.browser(), hub.browser(), hub.browser());
    let back = [leave(&held[0]).await, leave(&held[1]).await, leave(&held[2]).await];
    let fourth_back = leave(&fourth).await;
    let all =
        async || tokio::join!(held[0].get(&back[0]), held[1].get(&back[1]), held[2].get(&back[2]));

    let hanging = async {
        let pages = all().await;
        sick.0.is_over.store(true, Ordering::SeqCst);
        sick.0.asked.notify_one();
        pages
    };
    let meanwhile = async {
        sick.has_got(3).await;
        // Its limit is its own: a fourth is refused at once, and no other user notices anything.
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
        // People reload what does not come, and wait for the same answer; they keep no place
        // either.
        let look = async {
            for _ in 0..500 {
                if late.authorize(&Authorize::by("library")).await.is_choice() {
                    break;
                }
                // The reloads run on this thread.
                tokio::task::yield_now().await;
            }
            assert!(!sick.0.is_over.load(Ordering::SeqCst));
            late.authorize(&Authorize::by("library"))
                .await
                .finish_as("jean")
                .await
                .belongs_to("library");
            sick.0.release.notify_waiters();
        };
        tokio::join!(all(), look).0
    };
    let (first, reloaded) = tokio::join!(hanging, meanwhile);
    for answer in [first.0, first.1, first.2, reloaded.0, reloaded.1, reloaded.2] {
        assert_eq!(answer.status, 303);
    }
    for (browser, back) in held.iter().zip(&back) {
        let page = browser.open(back).await;
        // On a machine that is slow enough, its time is up before it is let go.
        let code = page.code();
        assert!(
            page.is_choice() && ["Y020005", "Y020004"].contains(&code.as_str()),
            "{code} at {}",
            page.url
        );
    }
    assert_eq!(sick.0.codes.load(Ordering::SeqCst), 3, "a code is sent once");
}

#[actix_web::test]
async fn a_failing_identity_provider_is_disabled_and_last_and_offered_again_after_a_pause() {
    let sick = Sick::default();
    let file = sick.start("").await;
    let order = "choice.order = [\"sick\", \"amandier\", \"belvedere\", \"closed\"]";
    let hub = TestHub::edited(|folder| {
        super::federation::put(folder, "connectors/sick.toml", file.as_bytes());
        let path = folder.join("passerelle.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let former =
            settings.lines().find(|line| line.starts_with("choice.order")).unwrap().to_owned();
        std::fs::write(&path, settings.replace(&former, order)).unwrap();
    })
    .await;
    let browser = hub.browser();
    let look = async || browser.authorize(&Authorize::by("bakery")).await;
    let offered = async || {
        let browser = hub.browser();
        browser.authorize(&Authorize::by("bakery")).await.offered()
    };
    assert_eq!(offered().await, ["sick", "amandier", "belvedere"]);
    // However often one network fails, it is one: no provider is disabled for it.
    for _ in 0..7 {
        fail(&hub, 1).await;
    }
    assert_eq!(offered().await, ["sick", "amandier", "belvedere"]);
    for network in 2..6 {
        fail(&hub, network).await;
    }
    // The prober looks at it each second.
    let mut disabled = false;
    for _ in 0..600 {
        disabled = offered().await == ["amandier", "belvedere"];
        if disabled {
            break;
        }
        actix_web::rt::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(disabled, "five networks fail, and no login succeeds");

    let page = look().await;
    assert_eq!(page.offered(), ["amandier", "belvedere"]);
    assert!(page.answer.body.contains(
        "<span><bdi>Sick account</bdi></span><span class=\"small quiet\">Out of order at the moment</span>"
    ));
    let (closed, failing) =
        (page.answer.body.find("Closed account"), page.answer.body.find("Sick account"));
    assert!(closed < failing, "it is last");
    // By hand, or by the service provider's hint, the user learns it at once.
    let by_hand = page.form("/provider").with("provider", "sick");
    browser
        .submit(&by_hand)
        .await
        .assert_error(200, "Y020100")
        .finish_as("angela")
        .await
        .belongs_to("bakery");
    let hinted = hub.browser();
    let page = hinted.authorize(&Authorize::by("bakery").with("idp_hint", "sick")).await;
    assert_eq!(page.received().error_at("bakery"), "temporarily_unavailable");

    // Its documents are fine, and the random code tells nothing of an endpoint that always answers
    // 500.
    for _ in 0..600 {
        hub.advance(Duration::from_secs(5));
        if offered().await.contains(&"sick".to_owned()) {
            break;
        }
        actix_web::rt::time::sleep(Duration::from_millis(50)).await;
    }
    let page = look().await;
    assert_eq!(page.offered(), ["amandier", "belvedere", "sick"], "it may be tried, and is last");
    assert!(page.answer.body.contains("Had a problem a moment ago"));
}

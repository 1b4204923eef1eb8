//! Responses when a rate limit is exceeded (docs/limits.md).

mod floods;

use std::fs;
use std::path::Path;
use std::time::Duration;

use actix_web::test::TestRequest;

use super::browser::Browser;
use super::federation::{SECRET, home_page};
use super::hub::{Answer, TestHub};
#[cfg(feature = "redis")]
use super::redis_server::Server;
use super::service::Authorize;

const SECONDS: Duration = Duration::from_secs(1);

/// Writes `line` before the other lines of a file of the configuration folder.
fn prepend_line(folder: &Path, file: &str, line: &str) {
    let path = folder.join(file);
    fs::write(&path, format!("{line}\n{}", fs::read_to_string(&path).unwrap())).unwrap();
}

/// Starts a hub that trusts this header of load balancers in 10.0.0.0/8.
async fn behind_proxies(header: &str, quotas: &str) -> TestHub {
    TestHub::edited(|folder| {
        let path = folder.join("passerelle.toml");
        let text = fs::read_to_string(&path).unwrap();
        let public = format!(
            "public = {{ listen = \"127.0.0.1:0\", trusted_proxies = [\"10.0.0.0/8\"], client_address_header = \"{header}\" }}"
        );
        let text = text.replace("public = { listen = \"127.0.0.1:0\" }", &public);
        fs::write(&path, format!("{text}\n{quotas}\n")).unwrap();
    })
    .await
}

/// Returns an authorization request from the address `peer` with this header.
fn request_from(peer: &str, header: (&str, &str)) -> TestRequest {
    let url = Authorize::by("bakery").url();
    TestRequest::get()
        .uri(&url)
        .peer_addr(format!("{peer}:40000").parse().unwrap())
        .insert_header(header)
}

#[track_caller]
fn assert_limited(answer: &Answer, code: &str, retry_after: &str) {
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (429, retry_after),
        "{}",
        answer.body
    );
    assert!(answer.header("location").is_empty() && answer.header("set-cookie").is_empty());
    assert!(
        answer.body.contains(code) && answer.body.contains(&home_page("bakery")),
        "the way back: {}",
        answer.body
    );
}

#[actix_web::test]
async fn a_service_provider_that_begins_too_many_logins_harms_no_other() {
    let hub = TestHub::edited(|folder| {
        prepend_line(folder, "passerelle.toml", "quotas.logins_per_service_provider = 3");
        prepend_line(folder, "service-providers/clinic.toml", "logins_per_minute = 1");
    })
    .await;
    let begun = async |service: &str| hub.browser().get(&Authorize::by(service).url()).await.status;
    for _ in 0..3 {
        assert_eq!(begun("bakery").await, 303);
    }
    for (languages, said) in [
        ("en", "The service has begun too many sign-ins"),
        ("fr", "Ce service a demandé trop de connexions"),
    ] {
        let browser = Browser::new(&hub, languages);
        let answer = browser.get(&Authorize::by("bakery").url()).await;
        assert_limited(&answer, "Y500007", "20");
        assert!(answer.body.contains(said) && browser.logins().is_empty(), "{}", answer.body);
    }
    assert_eq!(
        [begun("clinic").await, begun("clinic").await, begun("library").await],
        [303, 429, 303],
        "its own rate"
    );
    let silent = hub.browser();
    let received =
        silent.authorize(&Authorize::by("bakery").with("prompt", "none")).await.received();
    assert_eq!(
        received.error_at("bakery"),
        "temporarily_unavailable",
        "where no page may be shown"
    );
    hub.advance(20 * SECONDS);
    assert_eq!([begun("bakery").await, begun("bakery").await], [303, 429]);
    let metrics = hub.metrics.render();
    assert!(
        metrics.contains("passerelle_rate_limited_total{limit=\"service_provider\"} 5"),
        "{metrics}"
    );
    assert!(metrics.contains("passerelle_rate_limited_total{limit=\"network\"} 0"), "{metrics}");
}

#[actix_web::test]
async fn a_network_that_exceeds_its_quota_affects_no_other() {
    for (header, write) in [
        ("x-forwarded-for", (|client: &str| client.to_owned()) as fn(&str) -> String),
        ("forwarded", |client: &str| format!("for=\"{client}\"")),
    ] {
        let hub = behind_proxies(header, "[quotas]\nrequests_per_network = 2").await;
        let ask = async |client: &str| {
            hub.send(request_from("10.0.0.1", (header, write(client).as_str()))).await
        };
        for _ in 0..2 {
            assert_eq!(ask("192.0.2.7").await.status, 303, "{header}");
        }
        assert_limited(&ask("192.0.2.7").await, "Y500006", "30");
        assert_eq!(ask("192.0.2.8").await.status, 303);
        assert_eq!(
            [ask("[2001:db8::1]").await.status, ask("[2001:db8::2]").await.status],
            [303, 303]
        );
        assert_limited(&ask("[2001:db8::3]").await, "Y500006", "30");
        assert_eq!(ask("[2001:db8:0:1::1]").await.status, 303);
        let unknown = TestRequest::get()
            .uri("/api/v2/authorize?client_id=x")
            .peer_addr("10.0.0.1:1".parse().unwrap());
        let answer = hub.send(unknown.insert_header((header, write("192.0.2.7").as_str()))).await;
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (429, "30"),
            "malformed requests count too"
        );
        assert!(!answer.body.contains("192.0.2.7"));
    }
}

#[actix_web::test]
async fn a_forged_address_evades_no_limit_and_is_attributed_to_no_other_network() {
    let hub = behind_proxies("x-forwarded-for", "[quotas]\nrequests_per_network = 2").await;
    let ask = async |peer: &str, value: &str| {
        hub.send(request_from(peer, ("x-forwarded-for", value))).await.status
    };
    // A browser that reaches the hub without a proxy, and one behind it that sends the header
    // itself.
    assert_eq!(
        [ask("203.0.113.1", "1.1.1.1").await, ask("203.0.113.1", "1.1.1.2").await],
        [303, 303]
    );
    assert_eq!(ask("203.0.113.1", "10.0.0.9").await, 429);
    assert_eq!(
        [
            ask("10.0.0.1", "1.1.1.1, 203.0.113.2").await,
            ask("10.0.0.1", "1.1.1.2, 203.0.113.2").await
        ],
        [303, 303]
    );
    assert_eq!(ask("10.0.0.1", "1.1.1.3, 203.0.113.2").await, 429);
    assert_eq!(
        [ask("10.0.0.1", "1.1.1.1").await, ask("10.0.0.1", "1.1.1.2").await],
        [303, 303],
        "the addresses that the header named"
    );
}

#[actix_web::test]
async fn without_trusted_proxies_forwarded_headers_are_ignored() {
    let hub = TestHub::with("[quotas]\nrequests_per_network = 1").await;
    let ask = async |value: &str| {
        hub.send(request_from("10.0.0.1", ("x-forwarded-for", value))).await.status
    };
    assert_eq!([ask("192.0.2.1").await, ask("192.0.2.2").await], [303, 429]);
}

#[actix_web::test]
async fn the_redirects_to_a_rate_limited_identity_provider_are_bounded() {
    let hub = TestHub::edited(|folder| {
        prepend_line(folder, "connectors/amandier.toml", "limits.redirects_per_minute = 1")
    })
    .await;
    let (first, second) = (hub.browser(), hub.browser());
    first.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let page = second
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .assert_error(200, "Y020012");
    assert!(page.is_choice(), "at {}", page.url);
    let page = page.choose("belvedere").await;
    page.sign_in_as("angela").await.consent().await.received().belongs_to("bakery");
    hub.advance(60 * SECONDS);
    let third = hub.browser();
    third.authorize(&Authorize::by("bakery")).await.finish_as("angela").await.belongs_to("bakery");
    assert!(hub.metrics.render().contains("passerelle_rate_limited_total{limit=\"connector\"} 1"));
}

#[actix_web::test]
async fn guessing_secrets_of_many_clients_is_limited_and_correct_secrets_are_accepted() {
    let hub = TestHub::with("[quotas]\nfailed_authentications_per_network = 4").await;
    let received =
        hub.browser().authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let attempt = async |peer: &str, path: &str, body: String| {
        let form = ("content-type", "application/x-www-form-urlencoded");
        let request = TestRequest::post()
            .uri(path)
            .insert_header(form)
            .peer_addr(format!("{peer}:4").parse().unwrap());
        hub.send(request.set_payload(body)).await
    };
    let guess = async |peer: &str, id: usize| {
        let body = format!(
            "grant_type=authorization_code&code=x&redirect_uri=x&client_id=sp{id}&client_secret=x&token=x"
        );
        let path = ["/api/v2/token", "/api/v2/checktoken", "/api/v2/token/revocation"][id % 3];
        attempt(peer, path, body).await
    };
    for id in 0..4 {
        assert_eq!(guess("192.0.2.7", id).await.status, 401);
    }
    for id in 4..8 {
        let answer = guess("192.0.2.7", id).await;
        assert_eq!((answer.status, answer.header("retry-after")), (429, "15"), "{}", answer.body);
        assert!(
            answer.body.contains("temporarily_unavailable")
                && answer.header("www-authenticate").is_empty()
        );
    }
    assert_eq!(guess("192.0.2.8", 0).await.status, 401);
    let encode =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let right = format!(
        "grant_type=authorization_code&code={}&redirect_uri={}&client_id=bakery&client_secret={}",
        received.code(),
        encode(&super::federation::redirect_uri("bakery")),
        encode(SECRET)
    );
    assert_eq!(
        attempt("192.0.2.7", "/api/v2/token", right).await.status,
        200,
        "the correct secret is always accepted"
    );
}

#[cfg(feature = "redis")]
#[actix_web::test]
async fn a_quota_is_shared_by_all_hubs() {
    let server = Server::start(&[]);
    let store = format!(
        "quotas.logins_per_service_provider = 6\n[store.redis]\nnodes = [\"unix:{}\"]\npassword = {{ env = \"REDIS_PASSWORD\" }}\n\
         encryption_keys = [{{ env = \"STORE_KEY\" }}]\ncall_milliseconds = 5000\n",
        server.socket().display()
    );
    let (hub, counted) = TestHub::several(2, &store).await;
    let begun = async || hub.browser().get(&Authorize::by("bakery").url()).await.status;
    // Requests alternate between the hubs.
    for _ in 0..4 {
        assert_eq!(begun().await, 303);
    }
    hub.sync_counters().await;
    hub.sync_counters().await;
    let statuses = [begun().await, begun().await, begun().await, begun().await];
    assert!(statuses[..2] == [303, 303], "{statuses:?}");
    hub.sync_counters().await;
    hub.sync_counters().await;
    let answer = hub.browser().get(&Authorize::by("bakery").url()).await;
    assert_limited(&answer, "Y500007", answer.header("retry-after"));
    assert!(
        counted.iter().any(|metrics| metrics.render().contains("operation=\"count\"")),
        "by the counters in the store"
    );
    assert!(server.keys().iter().any(|key| key.contains(":q:")), "{:?}", server.keys());
    // At the start of the next minute.
    hub.advance(60 * SECONDS);
    assert_eq!([begun().await, begun().await], [303, 303]);
}

#[actix_web::test]
async fn by_default_a_public_address_begins_1200_logins_a_minute_and_a_private_one_any_number() {
    let hub = behind_proxies("x-forwarded-for", "").await;
    let ask =
        async |client: &str| hub.send(request_from("10.0.0.1", ("x-forwarded-for", client))).await;
    for _ in 0..1200 {
        assert_eq!(ask("203.0.113.7").await.status, 303);
    }
    assert_eq!(ask("203.0.113.7").await.status, 429);
    assert_eq!(ask("203.0.113.8").await.status, 303, "another address");
    for private in ["127.0.0.1", "192.168.1.1", "[fd00::1]"] {
        for _ in 0..1201 {
            assert_eq!(ask(private).await.status, 303, "{private}");
        }
    }
    let off = behind_proxies("x-forwarded-for", "[quotas]\nrequests_per_network = 0").await;
    for _ in 0..1201 {
        assert_eq!(
            off.send(request_from("10.0.0.1", ("x-forwarded-for", "203.0.113.7"))).await.status,
            303
        );
    }
}

#[actix_web::test]
async fn an_ipv6_site_begins_no_more_logins_than_four_of_its_networks() {
    let hub = behind_proxies("x-forwarded-for", "[quotas]\nrequests_per_network = 5").await;
    let ask =
        async |client: &str| hub.send(request_from("10.0.0.1", ("x-forwarded-for", client))).await;
    for n in 0..20 {
        assert_eq!(ask(&format!("[2001:db8:7:{n:x}::1]")).await.status, 303, "network {n}");
    }
    assert_limited(&ask("[2001:db8:7:ffff::1]").await, "Y500006", "3");
    assert_eq!(ask("[2001:db8:8::1]").await.status, 303, "another site");
    for n in 0..30 {
        assert_eq!(
            ask(&format!("203.0.113.{n}")).await.status,
            303,
            "IPv4 addresses count by themselves"
        );
    }
    let metrics = hub.metrics.render();
    assert!(
        metrics.contains("passerelle_rate_limited_total{limit=\"network_site\"} 1"),
        "{metrics}"
    );
}

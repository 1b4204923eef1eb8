//! Floods of logins whose page is never fetched.

use super::*;

#[actix_web::test]
async fn a_login_whose_page_was_not_fetched_ends_after_two_minutes_and_another_continues() {
    let hub = TestHub::start().await;
    let (read, unread) = (hub.browser(), hub.browser());
    let begun = async |browser: &Browser<'_>| {
        browser.get(&Authorize::by("bakery").url()).await.header("location").to_owned()
    };
    let (read_at, unread_at) = (begun(&read).await, begun(&unread).await);
    hub.advance(119 * SECONDS);
    let choice = read.open(&read_at).await;
    assert!(choice.is_choice());
    hub.advance(SECONDS);
    unread.open(&unread_at).await.assert_error(404, "Y420001");
    hub.advance(600 * SECONDS);
    choice.finish_as("angela").await.belongs_to("bakery");
    hub.advance(60 * SECONDS);
    let metrics = hub.metrics.render();
    assert!(
        metrics.contains("passerelle_logins_abandoned_total{state=\"choosing\"} 1"),
        "{metrics}"
    );
    for state in ["choosing", "awaiting_callback", "consenting"] {
        assert!(
            metrics.contains(&format!("passerelle_logins_in_progress{{state=\"{state}\"}} 0")),
            "{metrics}"
        );
    }
}

#[actix_web::test]
async fn a_flood_of_unread_logins_is_refused_before_the_newcomers_of_other_networks() {
    let off = "limits.logins = 100\nquotas.requests_per_network = 0";
    for (what, limits, state) in [
        ("small requests", off.to_owned(), "s".repeat(32)),
        ("large requests", off.replace("logins = 100", "login_bytes = 150000"), "s".repeat(1024)),
    ] {
        let hub = behind_proxies("x-forwarded-for", &limits).await;
        let ask = async |client: &str, state: &str| {
            let url = Authorize::by("bakery").with("state", state).url();
            let request = TestRequest::get().uri(&url).peer_addr("10.0.0.1:40000".parse().unwrap());
            hub.send(request.insert_header(("x-forwarded-for", client))).await
        };
        let mut refused = 0;
        for n in 0..200 {
            // One network, whichever address of it.
            let answer = ask(&format!("203.0.113.{n}"), &state).await;
            if answer.status != 303 {
                assert_limited(&answer, "Y500330", "120");
                refused += 1;
            }
        }
        assert!(refused >= 100, "{what}: {refused} of 200 refused");
        for n in 0..10 {
            assert_eq!(
                ask(&format!("198.51.{n}.7"), "t".repeat(32).as_str()).await.status,
                303,
                "{what}: newcomer {n}"
            );
        }
        let metrics = hub.metrics.render();
        assert!(
            metrics.contains(&format!(
                "passerelle_rate_limited_total{{limit=\"unauthenticated_logins\"}} {refused}"
            )),
            "{metrics}"
        );
        // Their time is over, and nothing of the flood is left.
        hub.advance(120 * SECONDS);
        assert_eq!(ask("203.0.113.1", &state).await.status, 303, "{what}");
    }
}

#[actix_web::test]
async fn a_flood_that_fetches_its_pages_is_refused_and_excludes_no_other_network() {
    let hub =
        behind_proxies("x-forwarded-for", "limits.logins = 100\nquotas.requests_per_network = 0")
            .await;
    let ask = async |client: &str| {
        let request = TestRequest::get()
            .uri(&Authorize::by("bakery").url())
            .peer_addr("10.0.0.1:40000".parse().unwrap());
        hub.send(request.insert_header(("x-forwarded-for", client))).await
    };
    // A browser of the flood: it begins a login and fetches its page.
    let begin_and_fetch = async |n: usize| {
        let begun = ask(&format!("203.0.113.{}", n % 250)).await;
        if begun.status != 303 {
            assert_limited(&begun, "Y500330", "120");
            return false;
        }
        let cookie = begun.header("set-cookie").split(';').next().unwrap().to_owned();
        let page =
            TestRequest::get().uri(begun.header("location")).insert_header(("cookie", cookie));
        assert_eq!(hub.send(page).await.status, 200);
        true
    };
    let mut admitted = 0;
    for n in 0..150 {
        admitted += usize::from(begin_and_fetch(n).await);
    }
    assert!(admitted <= 92, "{admitted} of 100 places");
    hub.advance(130 * SECONDS);
    for round in 0..3 {
        for n in 0..20 {
            assert_eq!(
                ask(&format!("198.51.{n}.7")).await.status,
                303,
                "login {round} of network {n}"
            );
        }
    }
    assert!(!begin_and_fetch(0).await, "the flood goes on");
}

/// Requests with names that a stranger invents, each of them a refusal of another kind.
fn invented(number: usize) -> Vec<TestRequest> {
    let name = format!("invented-{number}");
    let form = [("grant_type", "authorization_code"), ("code", &name), ("client_id", &name)];
    vec![
        TestRequest::get().uri(&Authorize::by("bakery").with("client_id", &name).url()),
        TestRequest::get().uri(&Authorize::by("bakery").with("scope", &name).url()),
        TestRequest::get().uri(&Authorize::by("bakery").with("acr_values", &name).url()),
        TestRequest::get().uri(&format!("/{name}/{name}")),
        TestRequest::get().uri(&format!("/api/v2/callback/{name}?state={name}&code={name}")),
        TestRequest::get().uri(&format!("/api/v2/interaction/{name}")),
        TestRequest::post().uri("/api/v2/token").set_form(form),
        TestRequest::post().uri("/api/v2/checktoken").set_form(form),
    ]
}

#[actix_web::test]
async fn a_flood_of_invented_names_makes_no_metric_series() {
    let hub = TestHub::start().await;
    let series = || {
        let metrics = hub.metrics.render();
        assert!(!metrics.contains("invented"), "{metrics}");
        metrics.lines().filter(|line| !line.starts_with('#')).count()
    };
    let at_the_start = series();
    for request in invented(0) {
        hub.send(request).await;
    }
    let after_one_of_each = series();
    assert!(after_one_of_each > at_the_start, "nothing was counted");
    for number in 1..100 {
        for request in invented(number) {
            hub.send(request).await;
        }
    }
    assert_eq!(series(), after_one_of_each);
}

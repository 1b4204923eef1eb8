//! Tests of the sign-out, and of the way to the admin console.

use super::*;

/// Signs a user in, and starts the sign-out; returns the parameters of the logout request and the
/// cookies.
async fn sign_out(
    this: &ServiceProviderData,
    hub: &FakeHub,
) -> (UniqueParams, Vec<Cookie<'static>>) {
    let (sent, cookies) = begin(this, hub).await;
    let query = [("code", "c"), ("state", sent.one("state").unwrap()), ("iss", &hub.issuer)];
    let callback = come_back(this, &query, &cookies).await;
    let request = test::TestRequest::post().uri("/logout").set_payload("ui_locales=en");
    let leaving = call(this, request, &set_cookies(&callback)).await;
    let end = Url::parse(leaving.headers().get("location").unwrap().to_str().unwrap()).unwrap();
    (UniqueParams::parse(end.query().unwrap().as_bytes()), set_cookies(&leaving))
}

async fn come_back_signed_out(
    this: &ServiceProviderData,
    sent: &UniqueParams,
    cookies: &[Cookie<'static>],
) {
    let uri = format!("/signed-out?state={}", sent.one("state").unwrap());
    let back = call(this, test::TestRequest::get().uri(&uri), cookies).await;
    assert_eq!(back.headers().get("location").unwrap(), "/?lang=en");
}

async fn home_page(this: &ServiceProviderData, cookies: &[Cookie<'static>]) -> String {
    text(call(this, test::TestRequest::get().uri("/?lang=en"), cookies).await).await
}

const HUB_ENDED: &str = "The hub: its session has ended.";
const HUB_UNKNOWN: &str = "The hub: not known.";

#[actix_web::test]
async fn the_signed_out_page_shows_what_has_ended() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    let (sent, cookies) = sign_out(&this, &hub).await;
    let before = home_page(&this, &cookies).await;
    assert!(before.contains("its session has ended") && before.contains(HUB_UNKNOWN), "{before}");
    come_back_signed_out(&this, &sent, &cookies).await;
    let after = home_page(&this, &cookies).await;
    assert!(after.contains(HUB_ENDED) && !after.contains(HUB_UNKNOWN), "{after}");
    assert!(after.contains("action=\"/login\"") && !after.contains("Ada"), "{after}");
    handle.stop(false).await;
}

#[actix_web::test]
async fn the_state_of_another_browsers_sign_out_confirms_nothing() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    let (_, mine) = sign_out(&this, &hub).await;
    let (theirs, _) = sign_out(&this, &hub).await;
    come_back_signed_out(&this, &theirs, &mine).await;
    let page = home_page(&this, &mine).await;
    assert!(page.contains(HUB_UNKNOWN) && !page.contains(HUB_ENDED), "{page}");
    handle.stop(false).await;
}

fn console_form(platform: &str) -> test::TestRequest {
    test::TestRequest::post()
        .uri("/console")
        .insert_header(("host", "localhost:9"))
        .insert_header(("sec-fetch-site", "same-origin"))
        .set_payload(format!("platform={platform}&ui_locales=en"))
}

#[actix_web::test]
async fn console_opens_without_the_token_in_the_browser() {
    let ((standard, one), (high, other)) = (start_hub("ada"), start_hub("ada"));
    let this = service_provider_with_hubs(&standard.issuer, &high.issuer);
    for (platform, hub) in [("standard", &standard), ("high", &high)] {
        let answer = call(&this, console_form(platform), &[]).await;
        let location = answer.headers().get("location").unwrap();
        assert_eq!(location, &format!("{}/admin/", hub.issuer));
        let cookie = answer.headers().get("set-cookie").unwrap().to_str().unwrap().to_owned();
        for part in ["console=c", "Path=/admin", "HttpOnly", "SameSite=Strict"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let whole = format!("{:?}{}", answer.headers().clone(), text(answer).await);
        assert!(!whole.contains(ADMIN_TOKEN), "{whole}");
    }
    one.stop(false).await;
    other.stop(false).await;
}

#[actix_web::test]
async fn console_form_of_another_site_or_by_dns_rebinding_opens_nothing() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    let other_host = |host: &'static str| console_form("standard").insert_header(("host", host));
    let other_site =
        |site: &'static str| console_form("standard").insert_header(("sec-fetch-site", site));
    for (name, request) in [
        ("cross-site", other_site("cross-site")),
        ("same-site", other_site("same-site")),
        ("rebinding", other_host("evil.example:9")),
        ("other port", other_host("localhost:10")),
        ("other name", other_host("127.0.0.1:9")),
    ] {
        let answer = call(&this, request, &[]).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{name}");
        assert!(set_cookies(&answer).is_empty(), "{name}");
    }
    for (request, status) in [
        (console_form("other"), StatusCode::BAD_REQUEST),
        (
            test::TestRequest::get().uri("/console?platform=standard"),
            StatusCode::METHOD_NOT_ALLOWED,
        ),
    ] {
        let answer = call(&this, request, &[]).await;
        assert_eq!(answer.status(), status);
        assert!(set_cookies(&answer).is_empty());
    }
    handle.stop(false).await;
}

#[actix_web::test]
async fn a_hub_that_rejects_the_token_opens_no_console() {
    let (hub, handle) = start_hub("ada");
    let wrong = Secret::new("not the token".to_owned());
    let answer = OpClient::new().unwrap().sign_in_to_console(&hub.issuer, &wrong).await;
    assert_eq!(
        answer.unwrap_err().to_string(),
        "The hub's admin console answered with status 401."
    );
    handle.stop(false).await;
}

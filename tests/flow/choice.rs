//! The choice of an identity provider: who may serve whom, in which order, how one is found among
//! hundreds, and what the browser remembers of the last time.

use std::fs;
use std::path::Path;

use actix_web::test::TestRequest;

use super::browser::Page;
use super::hub::TestHub;
use super::service::Authorize;

const LAST: &str = "__Host-passerelle-last";
const REMEMBERING: &str = "choice.remember_last = true";

/// Lines in front of a file's first.
fn prepend(folder: &Path, file: &str, lines: &str) {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    fs::write(folder.join(file), format!("{lines}\n{text}")).unwrap();
}

/// The bakery has these rules; the library has none.
async fn ruled(rules: &str) -> TestHub {
    TestHub::edited(|folder| {
        prepend(folder, "service-providers/bakery.toml", &format!("connectors = {{ {rules} }}"))
    })
    .await
}

fn hinted(connector: &str) -> Authorize {
    Authorize::by("bakery").with("idp_hint", connector)
}

async fn signed_in(page: Page<'_>, connector: &str) {
    page.choose(connector).await.sign_in_as("angela").await.consent().await.received();
}

fn is_at_the_sandbox(page: &Page<'_>) -> bool {
    page.url.contains("/sandbox/")
}

#[actix_web::test]
async fn a_connector_that_the_rules_leave_out_is_refused_at_each_step() {
    for (rules, admitted) in [
        ("", &["amandier", "belvedere"][..]),
        ("allow = [\"belvedere\"]", &["belvedere"]),
        ("allow = [\"amandier\", \"later\"]", &["amandier"]),
        ("deny = [\"belvedere\"]", &["amandier"]),
        ("deny = [\"later\"]", &["amandier", "belvedere"]),
        // A permitted hint opens nothing that the rules have closed.
        ("deny = [\"amandier\"], idp_hint = [\"amandier\", \"belvedere\"]", &["belvedere"]),
    ] {
        let hub = ruled(rules).await;
        let offered = hub.browser().authorize(&Authorize::by("bakery")).await.offered();
        assert_eq!(offered, admitted, "choice: {rules}");
        for connector in ["amandier", "belvedere"] {
            let (case, is_admitted) =
                (format!("{connector} under {rules}"), admitted.contains(&connector));
            let browser = hub.browser();
            assert_eq!(
                is_at_the_sandbox(&browser.authorize(&hinted(connector)).await),
                is_admitted,
                "hint: {case}"
            );

            let page = browser.authorize(&Authorize::by("bakery")).await;
            let chosen = browser.submit(&page.form("/provider").with("provider", connector)).await;
            assert_eq!(is_at_the_sandbox(&chosen), is_admitted, "choose: {case}");
            if !is_admitted {
                chosen.assert_error(200, "Y420008");
            }

            let browser = hub.browser();
            signed_in(browser.authorize(&Authorize::by("library")).await, connector).await;
            let reused =
                browser.authorize(&Authorize::by("bakery").with("prompt", "consent")).await;
            assert_eq!(reused.is_consent(), is_admitted, "reuse: {case}");
            if is_admitted {
                hub.tokens("bakery", &reused.consent().await.received()).await;
            }
        }
    }
}

#[actix_web::test]
async fn the_order_of_a_service_provider_overrides_that_of_the_hub() {
    for (rules, expected) in [
        ("", ["amandier", "belvedere"]),
        ("order = [\"belvedere\"]", ["belvedere", "amandier"]),
        ("order = [\"later\", \"belvedere\", \"amandier\"]", ["belvedere", "amandier"]),
    ] {
        let hub = ruled(rules).await;
        assert_eq!(
            hub.browser().authorize(&Authorize::by("bakery")).await.offered(),
            expected,
            "{rules}"
        );
        assert_eq!(
            hub.browser().authorize(&Authorize::by("library")).await.offered(),
            ["amandier", "belvedere"]
        );
    }
}

#[actix_web::test]
async fn several_hints_limit_the_choice_and_the_session_to_them() {
    let third = r#"
name = { en = "Third" }
listed = false
levels = { lowest = "eidas1", highest = "eidas1" }
[kind.persona]
persons = "persons.toml"
"#;
    let hub = TestHub::with_files("", &[("connectors/third.toml", third.to_owned())]).await;
    for (hints, offered) in [
        ("belvedere third", &["belvedere", "third"][..]),
        (" third  belvedere third unknown", &["belvedere", "third"]),
        // None of them can be chosen.
        ("unknown missing", &["amandier", "belvedere"]),
    ] {
        let browser = hub.browser();
        let page = browser.authorize(&hinted(hints)).await;
        assert_eq!(page.offered(), offered, "{hints}");
        signed_in(page, "belvedere").await;
    }
    for hints in ["third", "third third", "third ../x"] {
        let page_url = hub.browser().authorize(&hinted(hints)).await.url;
        assert!(page_url.contains("/sandbox/third"), "{hints}: {page_url}");
    }
    // A session of another connector is not reused.
    let browser = hub.browser();
    signed_in(browser.authorize(&Authorize::by("library")).await, "amandier").await;
    let request = |hints: &str| hinted(hints).with("prompt", "consent");
    assert!(browser.authorize(&request("belvedere third")).await.is_choice());
    assert!(browser.authorize(&request("belvedere amandier")).await.is_consent());
}

#[actix_web::test]
async fn a_hint_that_is_not_permitted_is_ignored() {
    for (rules, is_followed) in [
        ("", true),
        ("idp_hint = \"any\"", true),
        ("idp_hint = [\"amandier\"]", true),
        ("idp_hint = [\"belvedere\"]", false),
        ("idp_hint = \"none\"", false),
    ] {
        let hub = ruled(rules).await;
        let browser = hub.browser();
        let page = browser.authorize(&hinted("amandier")).await;
        assert_eq!(is_at_the_sandbox(&page), is_followed, "{rules}");

        // The error of one that the service named goes to the service at once; of one that the
        // person chose, to the person.
        let page = if is_followed { page } else { page.choose("amandier").await };
        let back = page.sign_in_failing("error").await;
        assert_eq!(back.is_choice(), !is_followed, "{rules}");

        // Nor does it stand in the way of a session.
        let browser = hub.browser();
        signed_in(browser.authorize(&Authorize::by("library")).await, "belvedere").await;
        let page = browser.authorize(&hinted("amandier").with("prompt", "consent")).await;
        assert_eq!(page.is_consent(), !is_followed, "{rules}");
    }
}

#[actix_web::test]
async fn hundreds_of_identity_providers_make_a_light_page_and_each_is_found() {
    const CATEGORIES: &str = "choice.categories = [\
        { id = \"state\", name = { fr = \"État\", en = \"State\" } }, { id = \"bank\", name = { fr = \"Banques\", en = \"Banks\" } }]\n";
    let hub = TestHub::edited(|folder| {
        let settings = fs::read_to_string(folder.join("passerelle.toml")).unwrap();
        fs::write(folder.join("passerelle.toml"), format!("{CATEGORIES}{settings}")).unwrap();
        for n in 0..150 {
            let name = format!("name = {{ fr = \"Caisse d’épargne {n}\", en = \"Savings bank {n}\" }}\n");
            let category = ["category = \"bank\"\n", "category = \"state\"\n", "", "category = \"unknown\"\n"][n % 4];
            let levels = "levels = { lowest = \"eidas1\", highest = \"eidas1\" }\n[kind.persona]\npersons = \"persons.toml\"\n";
            fs::write(folder.join(format!("connectors/idp-{n}.toml")), format!("{name}{category}{levels}")).unwrap();
        }
    })
    .await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    let body = &page.answer.body;
    assert!(body.len() < 30_000, "{} bytes", body.len());
    let at = |heading: &str| {
        body.find(&format!(">{heading}</h2>")).unwrap_or_else(|| panic!("no heading {heading}"))
    };
    assert!(at("State") < at("Banks") && at("Banks") < at("Other accounts"));
    assert!(body.contains("152 accounts are available"));
    let url = page.url.clone();
    for (query, found) in [
        ("q=SAVINGS+137", &["idp-137"][..]),
        ("q=caisse+d%27epargne+42", &["idp-42"]),
        ("q=belv%C3%A9d", &["belvedere"]),
        ("q=unknown", &[]),
    ] {
        assert_eq!(browser.open(&format!("{url}?{query}")).await.offered(), found, "{query}");
    }
    let page = browser.open(&format!("{url}?category=bank")).await;
    assert_eq!(page.offered().len(), 24);
    assert!(page.answer.body.contains("Accounts 1 to 24 of 38"));
    let next = page.links().into_iter().find(|link| link.contains("page=2")).unwrap();
    let page = browser.open(&next).await;
    assert_eq!(page.offered().len(), 14);
    let last = page.offered().pop().unwrap();
    page.choose(&last)
        .await
        .sign_in_as("angela")
        .await
        .consent()
        .await
        .received()
        .belongs_to("bakery");
    // Whatever stands in the address, the page comes.
    for odd in [
        "q=%3Cscript%3E",
        "page=-1",
        "page=99999999999999999999",
        "category=..%2F",
        "q=a&q=b",
        "category=_rest&page=9",
    ] {
        let page = browser.authorize(&Authorize::by("bakery")).await;
        let page = browser.open(&format!("{}?{odd}", page.url)).await;
        assert!(page.is_choice() && !page.answer.body.contains("<script>"), "{odd}");
    }
}

#[actix_web::test]
async fn the_last_choice_is_kept_once_a_login_has_finished_and_only_if_the_operator_says_so() {
    for (settings, is_kept) in [("", false), (REMEMBERING, true)] {
        let hub = TestHub::with(settings).await;
        let browser = hub.browser();
        let page = browser
            .authorize(&Authorize::by("bakery"))
            .await
            .choose("belvedere")
            .await
            .sign_in_as("angela")
            .await;
        assert_eq!(browser.cookie(LAST), None, "nothing has finished yet");
        let received = page.consent().await.received();
        assert!(!received.fields.values().any(|value| value.contains("belvedere")));
        assert_eq!(browser.cookie(LAST).as_deref(), is_kept.then_some("belvedere"));

        let page = browser.authorize(&Authorize::by("library")).await;
        assert_eq!(page.answer.body.contains(">Last used</h2>"), is_kept);
        assert_eq!(
            page.offered(),
            if is_kept { ["belvedere", "amandier"] } else { ["amandier", "belvedere"] }
        );
        // It decides nothing: the person still chooses, and one who cancels has not asked to be
        // forgotten.
        page.cancel().await;
        assert_eq!(browser.cookie(LAST).is_some(), is_kept);
        hub.advance(std::time::Duration::from_secs(181 * 24 * 3600));
        let page = browser.authorize(&Authorize::by("library")).await;
        assert!(!page.answer.body.contains(">Last used</h2>"), "half a year later");
    }
}

#[actix_web::test]
async fn a_forged_last_choice_cookie_shows_no_provider_that_can_not_be_chosen() {
    let hub = TestHub::with(REMEMBERING).await;
    for (service, planted) in [
        ("bakery", "\"><script>alert(1)</script>"),
        ("bakery", "../amandier"),
        ("bakery", "confirm"),
        ("bakery", ""),
        ("bakery", "unknown"),
        ("bakery", "closed"),
        ("cautious", "belvedere"),
    ] {
        let plain = hub.browser().authorize(&Authorize::by(service)).await.offered();
        let browser = hub.browser();
        browser.plant(LAST, planted);
        let page = browser.authorize(&Authorize::by(service)).await;
        assert!(page.is_choice() && page.offered() == plain, "{planted}");
        assert!(
            !page.answer.body.contains("Last used") && !page.answer.body.contains("<script>alert"),
            "{planted}"
        );
    }
}

#[actix_web::test]
async fn remembered_choices_are_removed_when_the_operator_disables_them() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    browser.plant(LAST, "belvedere");
    let page = browser.authorize(&Authorize::by("bakery")).await;
    assert_eq!(
        (page.offered(), browser.cookie(LAST)),
        (vec!["amandier".to_owned(), "belvedere".to_owned()], None)
    );
}

#[actix_web::test]
async fn the_last_choice_is_removed_by_the_user_and_by_no_other_site() {
    let hub = TestHub::with(REMEMBERING).await;
    let browser = hub.browser();
    browser.plant(LAST, "belvedere");
    let page = browser.authorize(&Authorize::by("bakery")).await;
    let form = page.form("/forget");
    let choosing = page.form("/provider");
    for (forged, site, code) in [
        (form.clone().without("csrf"), Some("same-origin"), "Y470"),
        (form.clone().with("csrf", choosing.field("csrf")), Some("same-origin"), "Y470"),
        (form.clone(), Some("cross-site"), "Y470"),
    ] {
        let answer = browser.post(&forged, site).await;
        assert!(answer.body.contains(code), "{}", answer.status);
        assert_eq!(browser.cookie(LAST).as_deref(), Some("belvedere"));
    }
    let stranger = hub.browser();
    stranger.plant(LAST, "belvedere");
    stranger.post(&form, Some("same-origin")).await;
    assert!(stranger.cookie(LAST).is_some(), "another browser's login");

    let page = browser.submit(&form).await;
    assert!(page.is_choice() && !page.answer.body.contains("Last used"));
    assert_eq!(browser.cookie(LAST), None);
    page.finish_as("angela").await.belongs_to("bakery");
}

#[actix_web::test]
async fn logos_come_from_the_hub_and_run_nothing() {
    const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    let hub = TestHub::edited(|folder| {
        fs::write(folder.join("connectors/tree.svg"), SVG).unwrap();
        fs::write(folder.join("service-providers/bread.svg"), SVG.replace('1', "2")).unwrap();
        prepend(folder, "connectors/amandier.toml", "logo = \"tree.svg\"");
        prepend(folder, "service-providers/bakery.toml", "logo = \"bread.svg\"");
    })
    .await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    let pictures: Vec<&str> = page
        .answer
        .body
        .split("src=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let [service, connector] = pictures.as_slice() else { panic!("{pictures:?}") };
    assert!(
        service.starts_with("/assets/service/") && connector.starts_with("/assets/idp/amandier?v="),
        "{pictures:?}"
    );
    for (address, status, kept) in [
        (*service, 200, "immutable"),
        (*connector, 200, "immutable"),
        ("/assets/idp/amandier", 200, "max-age=600"),
        ("/assets/idp/amandier?v=older", 200, "max-age=600"),
        ("/assets/idp/belvedere", 404, "no-store"),
        ("/assets/idp/unknown", 404, "no-store"),
        ("/assets/idp/..%2Famandier", 404, "no-store"),
        ("/assets/service/bakery", 404, "no-store"),
    ] {
        let answer = hub.send(TestRequest::get().uri(address)).await;
        assert_eq!(answer.status, status, "{address}");
        assert!(
            answer.header("cache-control").contains(kept),
            "{address}: {}",
            answer.header("cache-control")
        );
        if status == 200 {
            assert_eq!(answer.header("content-type"), "image/svg+xml", "{address}");
            // Opened by itself it is a document, whose script must not run here.
            assert!(
                answer.header("content-security-policy").contains("default-src 'none'"),
                "{address}"
            );
            assert!(answer.header("content-security-policy").ends_with("sandbox"), "{address}");
            assert_eq!(answer.header("x-content-type-options"), "nosniff", "{address}");
        }
    }
}

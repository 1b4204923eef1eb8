//! Identity providers that are found by the domain of an e-mail address.

use super::browser::Page;
use super::hub::TestHub;
use super::markup;
use super::service::Authorize;

const ASKING: &str = "choice.ask_email = true";
const ADDRESS: &str = "zoe.petit@north.example";

/// A connector of the sandbox with these lines.
fn connector(id: &str, lines: &str) -> (String, String) {
    let file = format!(
        r#"
name = {{ en = "The {id}" }}
levels = {{ lowest = "eidas1", highest = "eidas1" }}
{lines}
[kind.persona]
persons = "persons.toml"
"#
    );
    (format!("connectors/{id}.toml"), file)
}

/// Beside the usual ones: two that are found by domain, and one that is not listed.
async fn hub(settings: &str) -> TestHub {
    let files = [
        connector("north", r#"email_domains = ["north.example", "shared.example"]"#),
        connector("south", r#"email_domains = ["*.south.example", "shared.example"]"#),
        connector("hidden", "email_domains = [\"hidden.example\"]\nlisted = false"),
        connector("unreachable", "email_domains = [\"closed.example\"]\nenabled = false"),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    TestHub::with_files(settings, &files).await
}

async fn enter<'b>(page: Page<'b>, address: &str) -> Page<'b> {
    let form = page.form("/email").with("email", address);
    page.browser.submit(&form).await
}

fn asks(page: &Page<'_>) -> bool {
    page.forms().iter().any(|form| form.action.ends_with("/email"))
}

#[track_caller]
fn assert_at(page: &Page<'_>, connector: &str) {
    assert!(page.url.contains(&format!("/sandbox/{connector}")), "at {}", page.url);
}

#[actix_web::test]
async fn an_address_leads_to_the_identity_provider_of_its_domain() {
    let hub = hub(ASKING).await;
    for (address, expected) in [
        (ADDRESS, "north"),
        ("ANGELA@North.Example", "north"),
        ("angela@a.b.south.example", "south"),
        ("angela@hidden.example", "hidden"),
    ] {
        let browser = hub.browser();
        let page = browser.authorize(&Authorize::by("bakery")).await;
        assert!(asks(&page) && page.offered().is_empty(), "{address}");
        assert_at(&enter(page, address).await, expected);
    }
    let browser = hub.browser();
    let page = enter(browser.authorize(&Authorize::by("bakery")).await, ADDRESS).await;
    let received = page.sign_in_as("angela").await.consent().await.received();
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn an_unknown_domain_shows_the_list_and_two_connectors_both() {
    let hub = hub(ASKING).await;
    let all = ["amandier", "belvedere", "north", "south"];
    for (address, offered) in [
        ("angela@elsewhere.example", &all[..]),
        ("angela@south.example", &all),
        ("angela@north.example.attacker.example", &all),
        ("angela@shared.example", &["north", "south"]),
        // Disabled: it is named, and can't be chosen.
        ("angela@closed.example", &[]),
    ] {
        let browser = hub.browser();
        let page = enter(browser.authorize(&Authorize::by("bakery")).await, address).await;
        assert_eq!(page.answer.status, 200, "{address}");
        assert_eq!(page.offered(), offered, "{address}");
    }
    let browser = hub.browser();
    let page = enter(browser.authorize(&Authorize::by("bakery")).await, "a@shared.example").await;
    assert_at(&page.choose("south").await, "south");
    for text in ["angela", "north.example", "@north.example"] {
        let browser = hub.browser();
        let page = enter(browser.authorize(&Authorize::by("bakery")).await, text).await;
        assert!(asks(&page) && page.offered().is_empty(), "{text}");
        assert!(page.answer.body.contains("role=\"alert\""), "{text}");
    }
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    let list = page.links().into_iter().find(|link| link.contains("?list=all")).unwrap();
    assert_eq!(browser.open(&list).await.offered(), all);
}

#[actix_web::test]
async fn an_address_in_login_hint_goes_straight_there_without_the_question_too() {
    for settings in ["", ASKING] {
        let hub = hub(settings).await;
        let hinted = |hint: &str| Authorize::by("bakery").with("login_hint", hint);
        let browser = hub.browser();
        assert_at(&browser.authorize(&hinted(ADDRESS)).await, "north");
        assert_at(&browser.authorize(&hinted("a@hidden.example")).await, "hidden");
        let by_name = hinted(ADDRESS).with("idp_hint", "hidden");
        assert_at(&browser.authorize(&by_name).await, "hidden");
        let both = browser.authorize(&hinted("a@shared.example")).await;
        assert_eq!(both.offered(), ["north", "south"]);
        for request in [
            hinted("a@elsewhere.example"),
            hinted("angela"),
            hinted(ADDRESS).with("prompt", "select_account"),
        ] {
            let page = browser.authorize(&request).await;
            assert!(page.is_choice() || asks(&page), "at {}", page.url);
        }
        assert_eq!(asks(&browser.authorize(&Authorize::by("bakery")).await), !settings.is_empty());
    }
}

#[actix_web::test]
async fn listing_of_addresses_by_the_answers_is_stopped() {
    let hub = hub(ASKING).await;
    let browser = hub.browser();
    let mut seen = Vec::new();
    // The same person, one who doesn't exist, and a mailbox that accepts nothing.
    for local in ["zoe.petit", "no-such-person", "postmaster"] {
        let page = browser.authorize(&Authorize::by("bakery")).await;
        let unknown = enter(page, &format!("{local}@elsewhere.example")).await;
        // The address of the page is that of the login.
        let hash = unknown.url.split('/').find(|part| part.len() == 43).unwrap();
        let body = unknown.answer.body.replace(hash, "");
        seen.push((unknown.answer.status, markup::texts(&body, "p")));
        let page = browser.authorize(&Authorize::by("bakery")).await;
        assert_at(&enter(page, &format!("{local}@north.example")).await, "north");
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
}

#[actix_web::test]
async fn listing_of_hidden_connectors_by_their_domains_is_stopped() {
    let hub = hub("choice.ask_email = true\nchoice.hide_unavailable = true").await;
    let mut seen = Vec::new();
    for domain in ["closed.example", "unknown.example"] {
        let browser = hub.browser();
        let page = browser.authorize(&Authorize::by("bakery")).await;
        let page = enter(page, &format!("zoe@{domain}")).await;
        // The address of the page is that of the login.
        let hash = page.url.split('/').find(|part| part.len() == 43).unwrap();
        let body = page.answer.body.replace(hash, "").replace(domain, "");
        let texts = markup::texts(&body, "p").join("\n");
        seen.push((
            page.answer.status,
            page.offered(),
            texts.replace(&page.references().join(""), ""),
        ));
    }
    assert_eq!(seen[0], seen[1]);
}

#[actix_web::test]
async fn a_file_of_ten_thousand_domains_is_searched_and_read_again() {
    let rows = |connector: &str| {
        let row = |n: usize| format!("*.d{n}.example,{connector}\nd{n}.example,{connector}\n");
        let many: String = (0..5_000).map(row).collect();
        format!("domain,connector\n{many}north.example,south\n")
    };
    let files = [
        connector("north", "email_domains = [\"north.example\"]"),
        connector("south", ""),
        ("domains.csv".to_owned(), rows("south")),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let settings = format!("{ASKING}\nchoice.email_domain_file = \"domains.csv\"");
    let hub = TestHub::with_files(&settings, &files).await;
    let at = async |address: &str, connector: &str| {
        let browser = hub.browser();
        let page = enter(browser.authorize(&Authorize::by("bakery")).await, address).await;
        assert_at(&page, connector);
    };
    at("zoe@d4999.example", "south").await;
    at("zoe@a.b.d0.example", "south").await;
    let browser = hub.browser();
    let page = enter(browser.authorize(&Authorize::by("bakery")).await, ADDRESS).await;
    assert_eq!(page.offered(), ["north", "south"], "both places count");
    hub.write_file("domains.csv", &rows("north"));
    hub.reload_files().await;
    at("zoe@d4999.example", "north").await;
    // An invalid file keeps the last valid version.
    hub.write_file("domains.csv", "domain,connector\nd4999.example,south\nnot a domain,south\n");
    hub.reload_files().await;
    at("zoe@d4999.example", "north").await;
}

#[actix_web::test]
async fn an_email_address_is_neither_stored_nor_shown() {
    let hub = hub("choice.ask_email = true\naudit.sink = \"file\"").await;
    for address in [ADDRESS, "zoe.petit@elsewhere.example", "zoe.petit@shared.example"] {
        let browser = hub.browser();
        let page = enter(browser.authorize(&Authorize::by("bakery")).await, address).await;
        assert!(!page.answer.body.contains("zoe.petit"), "{address}");
        assert!(!page.url.contains("angela"), "{}", page.url);
        assert!(!page.url.contains("example%"), "{}", page.url);
    }
    assert!(!hub.audit_text().contains("zoe.petit"));
}

#[actix_web::test]
async fn an_unlisted_connector_is_not_on_the_page_and_works_by_hint() {
    let hub = hub("").await;
    let offered = hub.browser().authorize(&Authorize::by("bakery")).await.offered();
    assert_eq!(offered, ["amandier", "belvedere", "north", "south"]);
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery").with("idp_hint", "hidden")).await;
    assert_at(&page, "hidden");
    page.sign_in_as("angela").await.consent().await.received().code();
}

#[actix_web::test]
async fn forged_question_from_another_site_is_stopped() {
    let hub = hub(ASKING).await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    let form = page.form("/email").with("email", ADDRESS);
    let forged =
        browser.post(&form.clone().with("csrf", &"A".repeat(43)), Some("same-origin")).await;
    assert_eq!(forged.status, 403, "{}", forged.body);
    let cross_site = browser.post(&form, Some("cross-site")).await;
    assert_eq!(cross_site.status, 403, "{}", cross_site.body);
}

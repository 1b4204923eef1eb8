//! A restart with invalid files: what the console shows, and what still works.

use super::*;
use passerelle_admin::readiness::CheckResult;

async fn config_check(hub: &TestHub) -> (bool, CheckResult) {
    let status: HubStatus = hub.get_json("/admin/status").await;
    let check = status.checks.into_iter().find(|check| check.name == "config").unwrap();
    (status.ready, check)
}

#[actix_web::test]
async fn a_restart_with_a_bad_file_of_each_kind_is_ready_and_degraded_and_heals_without_a_restart()
{
    for (file, others_work) in [
        ("connectors/belvedere.toml", true),
        ("service-providers/clinic.toml", true),
        ("notices.toml", true),
        ("service-providers/bakery.toml", false),
    ] {
        let hub = TestHub::start().await;
        let path = hub.folder().join(file);
        let good = std::fs::read_to_string(&path).ok();
        std::fs::write(&path, "name = 1\nnotice = 2").unwrap();
        let hub = hub.restart().await;
        let (ready, check) = config_check(&hub).await;
        assert_eq!((ready, check.state), (true, CheckState::Degraded), "{file}");
        let finding = &check.findings[0];
        assert!(finding.message.contains(file) && !finding.fix.is_empty(), "{finding:?}");
        let browser = hub.browser();
        let page = browser.open(&Authorize::by("bakery").url()).await;
        assert_eq!(page.is_choice(), others_work, "{file}");
        match good {
            Some(good) => std::fs::write(&path, good).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        hub.reload_files().await;
        assert_eq!(config_check(&hub).await.1.state, CheckState::Ok, "{file}");
        assert!(hub.browser().authorize(&Authorize::by("bakery")).await.is_choice(), "{file}");
    }
}

/// Attack: a typing error in the block of an identity provider, and a restart.
#[actix_web::test]
async fn a_block_with_a_syntax_error_stays_in_force_after_a_restart() {
    let hub = TestHub::start().await;
    let path = hub.folder().join("connectors/amandier.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let block = "\n[[block]]\nreason = \"keys leaked\"\nuntl = 2999-01-01T00:00:00Z\n";
    std::fs::write(&path, format!("{text}{block}")).unwrap();
    let hub = hub.restart().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    let body = &page.answer.body;
    assert!(!body.contains("amandier") && body.contains("belvedere"), "{body}");
    // Nor is a block by command, whose connector has a bad file meanwhile.
    std::fs::write(&path, &text).unwrap();
    hub.reload_files().await;
    let blocked = serde_json::json!({ "connector": "amandier", "reason": "keys leaked" });
    assert_eq!(hub.post_block(&blocked).await.status, 201);
    std::fs::write(&path, "x").unwrap();
    let hub = hub.restart().await;
    std::fs::write(&path, &text).unwrap();
    hub.reload_files().await;
    let list: Value = hub.get_json("/admin/blocks").await;
    assert_eq!(list["blocks"][0]["in_force"], true, "{list}");
}

#[actix_web::test]
async fn a_hub_whose_connectors_are_all_bad_is_not_ready_until_one_is_good() {
    let hub = TestHub::start().await;
    let folder = hub.folder().join("connectors");
    let good = std::fs::read(folder.join("amandier.toml")).unwrap();
    for file in std::fs::read_dir(&folder).unwrap() {
        std::fs::write(file.unwrap().path(), "x").unwrap();
    }
    let hub = hub.restart().await;
    let (ready, check) = config_check(&hub).await;
    assert_eq!((ready, check.state), (false, CheckState::NotReady), "{check:?}");
    std::fs::write(hub.folder().join("connectors/amandier.toml"), good).unwrap();
    hub.reload_files().await;
    assert!(config_check(&hub).await.0);
}

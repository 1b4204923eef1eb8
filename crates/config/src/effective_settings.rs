//! The settings that a hub uses, for operators.

use serde_json::Value;

use crate::kinds::Kinds;
use crate::model::Settings;
use crate::schema::settings_schema;
use passerelle_settings::schema_node::SchemaNode;

/// Returns the settings as JSON. A key that the file leaves out has the value that applies, or the
/// words of the reference about it: `never`, `the host name`.
///
/// # Errors
/// Fails if a value has no form in JSON.
pub fn effective_settings(settings: &Settings, kinds: Kinds) -> serde_json::Result<Value> {
    let mut settings = settings.clone();
    let (platform, lifetimes) = (settings.platform, &mut settings.lifetimes);
    lifetimes.login_seconds = Some(lifetimes.login(platform).as_secs());
    lifetimes.session_idle_seconds = Some(lifetimes.session_idle(platform).as_secs());
    lifetimes.session_seconds = Some(lifetimes.session(platform).as_secs());
    settings.limits.login_bytes = u64::try_from(settings.limits.login_bytes()).ok();
    let mut value = serde_json::to_value(settings)?;
    let schema = settings_schema(kinds);
    describe_absent(&mut value, Some(SchemaNode::root(&schema)));
    Ok(value)
}

fn describe_absent(value: &mut Value, node: Option<SchemaNode<'_>>) {
    match value {
        Value::Null => {
            let words = node.and_then(|node| node.meaning_and_default().1);
            *value = words.unwrap_or_else(|| "none".to_owned()).into();
        }
        Value::Object(table) => {
            for (key, value) in table {
                describe_absent(value, node.and_then(|node| node.child(key)));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                describe_absent(item, node.and_then(|node| node.child(&index.to_string())));
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

//! The audit log of a hub, read as lines.

use std::fs;

use serde_json::Value;

use super::hub::TestHub;

impl TestHub {
    pub fn audit_text(&self) -> String {
        self.flush_audit();
        fs::read_to_string(self.folder().join("audit/audit.jsonl")).unwrap()
    }

    /// Returns all lines after the two of the start.
    pub fn audit_lines(&self) -> Vec<Value> {
        self.audit_text().lines().skip(2).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn audit_event_names(&self) -> Vec<String> {
        self.audit_lines().iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the last support id in the audit log.
    pub fn last_support_id(&self) -> String {
        self.flush_audit();
        let log = fs::read_to_string(self.folder().join("audit/audit.jsonl")).unwrap();
        let lines = log.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| Some(line["support_id"].as_str()?.to_owned())).next().unwrap()
    }
}

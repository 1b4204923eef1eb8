//! Tests that can't run because the machine lacks a tool.

use std::io::Write as _;

/// Names the running test on stderr as skipped, though the harness captures the output of tests
/// that pass. `tests/run` repeats the line at its end.
///
/// # Panics
/// If the variable `required_by` is set, which `tests/run` does where the tool is installed.
pub fn skip_test(tool: &str, required_by: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    assert!(std::env::var_os(required_by).is_none(), "{name}: {tool} is missing");
    // The harness captures `eprintln!`, but not the stream. One write is one line among others.
    let line = format!("SKIPPED {name}: needs {tool}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {

    use std::process::Command;

    use super::skip_test;

    const CHILD: &str = "SKIPPED_TEST_CHILD";

    #[test]
    fn a_test_that_is_skipped_is_named_although_it_passes() {
        if std::env::var_os(CHILD).is_some() {
            skip_test("a tool", "SKIPPED_TEST_REQUIRED");
            return;
        }
        let name = "testing::skipped::tests::a_test_that_is_skipped_is_named_although_it_passes";
        let run = |required: bool| {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", name, "--test-threads=2"]).env(CHILD, "1");
            if required {
                child.env("SKIPPED_TEST_REQUIRED", "1");
            }
            child.output().unwrap()
        };
        let skipped = run(false);
        let line = format!("SKIPPED {name}: needs a tool\n");
        assert!(skipped.status.success());
        assert_eq!(String::from_utf8_lossy(&skipped.stderr), line);
        assert!(!run(true).status.success());
    }
}

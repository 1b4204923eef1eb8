use std::cell::Cell;

use super::*;
use crate::file::FileRegister;

const HEADER: &str = "given_names,family_name,birthdate,gender,birthplace,birthcountry,status\n";
const ANGELA: &str = "Angela,DUBOIS,1962-08-24,female,75107,99100,active\n";
const PAUL: &str = "Paul,MARTIN,1970-01-01,male,13055,99100,active\n";

struct Stage(tempfile::TempDir);

impl Stage {
    fn new(register: &str, source: &str) -> Self {
        let stage = Self(tempfile::tempdir().unwrap());
        std::fs::write(stage.path("register.csv"), format!("{HEADER}{register}")).unwrap();
        std::fs::write(stage.path("source.csv"), source).unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn import(&self, keep: ImportMode) -> Result<ImportStats, ImportError> {
        self.observed_import(keep, &Unobserved)
    }

    fn observed_import(
        &self,
        keep: ImportMode,
        observer: &dyn ImportObserver,
    ) -> Result<ImportStats, ImportError> {
        import(&self.path("source.csv"), &self.path("register.csv"), "99100", keep, observer)
    }

    fn register(&self) -> String {
        std::fs::read_to_string(self.path("register.csv")).unwrap()
    }
}

#[test]
fn a_source_is_merged_sorted_and_without_repeated_rows() {
    // The columns in another order, Paul twice alike, Angela's spelling and status changed.
    let source = "status,family_name,given_names,birthdate,gender,birthplace,birthcountry\n\
         ,MARTIN,Paul,1970-01-01,male,13055,99100\n,MARTIN,Paul,1970-01-01,male,13055,99100\n\
         deceased,Dubois,\"ANGELA \",1962-08-24,female,75107,99100\n";
    let stage = Stage::new(&format!("Zoé,ZOLA,1990-01-01,female,,99134,active\n{ANGELA}"), source);
    let done = stage.import(ImportMode::Merge).unwrap();
    assert_eq!(
        done,
        ImportStats { persons: 3, added: 1, changed: 1, removed: 0, indistinguishable: 0 }
    );
    let deceased = "ANGELA,Dubois,1962-08-24,female,75107,99100,deceased\n";
    let zoe = "Zoé,ZOLA,1990-01-01,female,,99134,active\n";
    assert_eq!(stage.register(), format!("{HEADER}{deceased}{PAUL}{zoe}"));
    assert_eq!(FileRegister::load(&stage.path("register.csv"), "99100").unwrap().len(), 3);
    // A second import changes nothing; replacing removes persons that are not in the source.
    assert_eq!(
        stage.import(ImportMode::Merge).unwrap(),
        ImportStats { persons: 3, ..ImportStats::default() }
    );
    assert_eq!(
        stage.import(ImportMode::Replace).unwrap(),
        ImportStats { persons: 2, removed: 1, ..ImportStats::default() }
    );
    assert_eq!(stage.register(), format!("{HEADER}{deceased}{PAUL}"));
}

#[test]
fn a_source_without_persons_does_not_empty_the_register() {
    let stage = Stage::new(ANGELA, HEADER);
    let text = stage.import(ImportMode::Replace).unwrap_err().to_string();
    assert!(
        text.contains("source.csv contains no person") && stage.register().contains("DUBOIS"),
        "{text}"
    );
    assert_eq!(
        stage.import(ImportMode::Merge).unwrap().persons,
        1,
        "merging nothing changes nothing"
    );
    let gone = Stage::new(ANGELA, HEADER);
    std::fs::remove_file(gone.path("source.csv")).unwrap();
    let text = gone.import(ImportMode::Merge).unwrap_err().to_string();
    assert!(
        text.starts_with("nothing is imported: ") && text.contains("can not be read"),
        "{text}"
    );
}

#[test]
fn one_invalid_line_imports_nothing_and_every_invalid_line_is_listed() {
    let source = format!(
        "{HEADER}{PAUL}A,B,1962-02-30,female,75107,99100,\nA,B\n{ANGELA}A,B,1962-02-03,F,75107,99100,\n"
    );
    let stage = Stage::new(PAUL, &source);
    let before = stage.register();
    let text = stage.import(ImportMode::Merge).unwrap_err().to_string();
    for expected in [
        "3 lines are invalid",
        "line 3: column `birthdate`",
        "line 4: 2 fields instead of 7",
        "line 6: column `gender`",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    assert!(stage.register() == before && !text.contains("DUBOIS"));
    let many = Stage::new(PAUL, &format!("{HEADER}{}", "A,B\n".repeat(250)));
    let text = many.import(ImportMode::Replace).unwrap_err().to_string();
    assert!(text.contains("250 lines are invalid") && text.contains("… and 150 more"), "{text}");
}

#[test]
fn namesakes_are_counted_and_an_invalid_register_is_distinguished() {
    let refused = PAUL.replace("active", "refused");
    let stage = Stage::new("", &format!("{HEADER}{PAUL}{refused}"));
    let done = stage.import(ImportMode::Merge).unwrap();
    assert!(done.indistinguishable == 1 && done.to_string().contains("Y010002"), "{done}");
    std::fs::write(stage.path("register.csv"), "a,b\n").unwrap();
    let text = stage.import(ImportMode::Merge).unwrap_err().to_string();
    assert!(
        text.contains("the existing register is invalid") && text.contains("register.csv"),
        "{text}"
    );
    assert_eq!(stage.import(ImportMode::Replace).unwrap().persons, 2);
    let nowhere = import(
        &stage.path("source.csv"),
        &stage.path("no/such/register.csv"),
        "99100",
        ImportMode::Merge,
        &Unobserved,
    );
    assert!(nowhere.unwrap_err().to_string().contains("can not be written"));
    let missing = import(
        &stage.path("none.csv"),
        &stage.path("register.csv"),
        "99100",
        ImportMode::Merge,
        &Unobserved,
    );
    assert!(missing.unwrap_err().to_string().contains("none.csv"));
}

#[test]
fn a_full_disk_is_called_one() {
    struct FullDisk;
    impl std::io::Write for FullDisk {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut csv = csv::WriterBuilder::new().buffer_capacity(1).from_writer(FullDisk);
    let error = csv.write_record(COLUMNS).map_err(io_error).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

/// The hub may run as another user than the importer.
#[test]
fn the_register_keeps_its_owner_and_others_can_not_read_it() {
    let stage = Stage::new(PAUL, &format!("{HEADER}{ANGELA}"));
    let register = stage.path("register.csv");
    let about = || std::fs::metadata(&register).unwrap();
    for (before, after) in [(0o644, 0o640), (0o660, 0o660), (0o600, 0o600), (0o604, 0o600)] {
        std::fs::set_permissions(&register, Permissions::from_mode(before)).unwrap();
        stage.import(ImportMode::Merge).unwrap();
        assert_eq!(about().mode() & 0o777, after, "{before:o}");
    }
    // Only root can give a file away; anybody else finds their own name on it, which is what the
    // test would ask.
    if std::os::unix::fs::chown(&register, Some(65_534), Some(65_533)).is_ok() {
        stage.import(ImportMode::Replace).unwrap();
        assert_eq!((about().uid(), about().gid()), (65_534, 65_533));
    }
    std::fs::remove_file(&register).unwrap();
    stage.import(ImportMode::Merge).unwrap();
    assert_eq!(about().mode() & 0o777, 0o600, "a new one is its maker's alone");
}

#[test]
fn a_link_that_leads_nowhere_is_not_replaced_by_a_file() {
    let stage = Stage::new(PAUL, &format!("{HEADER}{ANGELA}"));
    let link = stage.path("link.csv");
    std::os::unix::fs::symlink(stage.path("unmounted/register.csv"), &link).unwrap();
    for keep in [ImportMode::Merge, ImportMode::Replace] {
        let error = import(&stage.path("source.csv"), &link, "99100", keep, &Unobserved)
            .unwrap_err()
            .to_string();
        assert!(error.contains("link.csv") && error.contains("dangling link"), "{error}");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let error = import(&stage.path("source.csv"), stage.0.path(), "99100", keep, &Unobserved)
            .unwrap_err()
            .to_string();
        assert!(error.contains("or not a file"), "{error}");
    }
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let stage = Stage::new(PAUL, &format!("{HEADER}{ANGELA}"));
    std::os::unix::fs::symlink(stage.path("register.csv"), stage.path("link.csv")).unwrap();
    import(
        &stage.path("source.csv"),
        &stage.path("link.csv"),
        "99100",
        ImportMode::Merge,
        &Unobserved,
    )
    .unwrap();
    assert!(std::fs::symlink_metadata(stage.path("link.csv")).unwrap().is_symlink());
    assert!(stage.register().contains("DUBOIS"));
}

/// Cancels the import in one of its steps, and counts the bytes of each step before.
struct Cancellation {
    step: ImportStep,
    is_cancelled: Cell<bool>,
    bytes: Cell<u64>,
}

impl ImportObserver for Cancellation {
    fn begin(&self, step: ImportStep, _: u64) {
        self.is_cancelled.set(step == self.step);
    }

    fn advance(&self, bytes: u64) {
        self.bytes.set(self.bytes.get() + bytes);
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }
}

#[test]
fn a_cancelled_import_changes_nothing_and_leaves_no_file() {
    let stage = Stage::new(ANGELA, &format!("{HEADER}{PAUL}"));
    let steps = [ImportStep::ReadSource, ImportStep::ReadRegister, ImportStep::Write];
    let mut bytes_before = 0;
    for step in steps {
        let observer = Cancellation { step, is_cancelled: Cell::default(), bytes: Cell::default() };
        let ended = stage.observed_import(ImportMode::Merge, &observer);
        assert!(matches!(ended, Err(ImportError::Cancelled)), "{step:?}: {ended:?}");
        assert_eq!(stage.register(), format!("{HEADER}{ANGELA}"), "{step:?}");
        let files = std::fs::read_dir(stage.0.path()).unwrap().count();
        assert_eq!(files, 2, "{step:?}: the source and the register");
        assert!(observer.bytes.get() > bytes_before, "{step:?}: the steps before were observed");
        bytes_before = observer.bytes.get();
    }
}

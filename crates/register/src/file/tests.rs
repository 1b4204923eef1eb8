use super::*;

const HEADER: &str = "given_names,family_name,birthdate,gender,birthplace,birthcountry,status\n";

fn demo() -> FileRegister {
    FileRegister::from_reader(
        "register.csv",
        include_bytes!("../../../demo/src/register.csv").as_slice(),
        "99100",
    )
    .unwrap()
}

fn read(rows: &str) -> Result<FileRegister, FileRegisterError> {
    FileRegister::from_reader("r.csv", format!("{HEADER}{rows}").as_bytes(), "99100")
}

fn person(
    given_names: &str,
    family_name: &str,
    birthdate: &str,
    gender: &str,
    birthplace: &str,
    birthcountry: &str,
) -> Identity {
    let some = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
    Identity {
        given_names: given_names.split(' ').map(String::from).collect(),
        family_name: some(family_name),
        birthdate: some(birthdate),
        gender: some(gender),
        birthplace: some(birthplace),
        birthcountry: some(birthcountry),
        email: Some("who@example.org".into()),
        preferred_username: None,
        standard: StandardClaims::new(),
        declared: DeclaredValues::new(),
    }
}

#[test]
fn the_demo_register_by_table() {
    let register = demo();
    assert_eq!(register.len(), 9);
    for asked in [
        person("Angela Claire Louise", "DUBOIS", "1962-08-24", "female", "75107", "99100"),
        person("Jean Étienne", "LEFÈVRE", "1978-02-11", "male", "2A004", "99100"),
        person("María Dolores", "GARCÍA MÁRQUEZ", "1990-12-31", "female", "", "99134"),
        person("Mamadou", "DIALLO", "1944-00-00", "male", "", "99341"),
        person(
            "Marie-Charlotte Élisabeth Joséphine Antoinette Philippine",
            "DE LA ROCHEFOUCAULD-MONTMORENCY-LUXEMBOURG",
            "1985-07-14",
            "female",
            "33063",
            "99100",
        ),
    ] {
        // The register's own data, which has no e-mail address.
        let known = Identity { email: None, ..asked.clone() };
        assert_eq!(register.find(&asked), RegisterAnswer::Found(Box::new(known)));
    }
    for (asked, answer) in [
        (
            person("Fernand Auguste", "MOREL", "1921-03-05", "male", "69123", "99100"),
            RegisterAnswer::Deceased,
        ),
        (
            person("Odile", "PERRIN", "1955-11-30", "female", "59350", "99100"),
            RegisterAnswer::Refused,
        ),
        (
            person("Paul", "MARTIN", "1970-01-01", "male", "13055", "99100"),
            RegisterAnswer::MultipleMatches,
        ),
        (
            person("Angela", "DUBOIS", "1962-08-24", "female", "75107", "99100"),
            RegisterAnswer::NotFound,
        ),
        (person("Mamadou", "DIALLO", "1944-01-00", "male", "", "99341"), RegisterAnswer::NotFound),
        (person("Mamadou", "DIALLO", "", "male", "", "99341"), RegisterAnswer::NotFound),
    ] {
        assert_eq!(register.find(&asked), answer);
    }
}

#[test]
fn another_spelling_is_found_and_gets_the_registers_spelling() {
    let register = demo();
    for asked in [
        person("jean etienne", "Lefevre", "1978-02-11", "male", "2A004", "99100"),
        person("Jean-Étienne", "LEFÈVRE", "1978-02-11", "male", "2A004", "99100"),
    ] {
        let RegisterAnswer::Corrected(known) = register.find(&asked) else { panic!() };
        assert_eq!(
            (known.given_names.join(" ").as_str(), known.family_name.as_deref()),
            ("Jean Étienne", Some("LEFÈVRE"))
        );
    }
    // A place of birth abroad is ignored, but the result has the register's value: none.
    let asked = person("Mamadou", "DIALLO", "1944-00-00", "male", "99341", "99341");
    assert!(
        matches!(register.find(&asked), RegisterAnswer::Corrected(known) if known.birthplace.is_none())
    );
    // One given name of two words equals two given names.
    let asked = Identity {
        given_names: vec!["Jean Étienne".into()],
        ..person("", "LEFÈVRE", "1978-02-11", "male", "2A004", "99100")
    };
    assert!(
        matches!(register.find(&asked), RegisterAnswer::Found(known) if known.given_names.len() == 2)
    );
}

#[test]
fn deceased_and_living_namesakes_are_several_matches() {
    let rows = "Paul,MARTIN,1970-01-01,male,13055,99100,deceased\nPAUL,Martin,1970-01-01,male,13055,99100,\n";
    let asked = person("Paul", "MARTIN", "1970-01-01", "male", "13055", "99100");
    assert_eq!(read(rows).unwrap().find(&asked), RegisterAnswer::MultipleMatches);
}

#[test]
fn columns_may_stand_in_any_order_and_names_may_be_missing() {
    let text = "\u{feff}status,birthcountry,birthplace,gender,birthdate,family_name,given_names\n,99134,,male,1990-01-01,,\"Ana, Eva\"\n";
    let register = FileRegister::from_reader("r.csv", text.as_bytes(), "99100").unwrap();
    let asked =
        Identity { family_name: None, ..person("Ana, Eva", "", "1990-01-01", "male", "", "99134") };
    assert!(
        matches!(register.find(&asked), RegisterAnswer::Found(known) if known.family_name.is_none())
    );
}

#[test]
fn an_invalid_file_is_rejected_with_line_and_fix() {
    let good = "Angela,DUBOIS,1962-08-24,female,75107,99100,\n";
    for (text, expected) in [
        (String::new(), "r.csv: column `given_names` is missing"),
        (HEADER.replace(",status", ""), "column `status` is missing"),
        (HEADER.replace("gender", "sex"), "column 4 is unknown"),
        (HEADER.replace("gender", "status"), "column 7 is unknown, or there twice"),
        (HEADER.replace(',', ";"), "separated by commas"),
        (format!("{HEADER}{good}Angela,DUBOIS\n"), "line 3: 2 fields instead of 7"),
        (
            format!("{HEADER}{good}{good}A,B,1962-02-30,female,75107,99100,\n"),
            "line 4: column `birthdate`: must be a calendar day",
        ),
        (
            format!("{HEADER}A,B,1962-02-03,F,75107,99100,\n"),
            "line 2: column `gender`: must be male, female",
        ),
        (
            format!("{HEADER}A,B,1962-02-03,female,,99100,\n"),
            "column `birthplace`: required for a birth in the home country",
        ),
        (
            format!("{HEADER}-,B,1962-02-03,female,75107,99100,\n"),
            "column `given_names`: must have a letter",
        ),
        (
            format!("{HEADER},,1962-02-03,female,75107,99100,\n"),
            "column `family_name`: a given name or a family name",
        ),
        (
            format!("{HEADER}A,B,1962-02-03,female,75107,99100,alive\n"),
            "column `status`: must be active",
        ),
    ] {
        let error =
            FileRegister::from_reader("r.csv", text.as_bytes(), "99100").err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(
            !error.contains("DUBOIS") && !error.contains("alive"),
            "no person's data in {error}"
        );
    }
    let latin1 = [HEADER.as_bytes(), b"Andr\xe9,B,1962-02-03,male,75107,99100,\n"].concat();
    let error =
        FileRegister::from_reader("r.csv", latin1.as_slice(), "99100").err().unwrap().to_string();
    assert!(error.contains("line 2: not UTF-8"), "{error}");
    let error =
        FileRegister::load(Path::new("no/such/register.csv"), "99100").err().unwrap().to_string();
    assert!(
        error.contains("no/such/register.csv") && error.contains("register.file.path"),
        "{error}"
    );
}

/// The pages that document the column.
#[test]
fn every_status_of_a_row_is_accepted_and_documented() {
    let pages = [
        include_str!("../../../../docs/operating.md"),
        include_str!("../../../../docs/configuration.md"),
        include_str!("../../../../config/passerelle.toml"),
    ];
    for status in ["active", "", "deceased", "refused"] {
        assert!(read(&format!("A,B,1962-02-03,female,75107,99100,{status}\n")).is_ok(), "{status}");
        assert!(
            pages.iter().all(|page| page.contains(if status.is_empty() {
                "empty"
            } else {
                status
            })),
            "{status}"
        );
    }
}

#[test]
fn many_persons_stay_apart_and_small() {
    let mut rows = String::new();
    for number in 0..20_000 {
        rows += &format!("Anne N{number},DURAND,1990-01-01,female,75107,99100,\n");
    }
    let register = read(&rows).unwrap();
    for number in [0, 1, 777, 19_999] {
        let asked =
            person(&format!("Anne N{number}"), "DURAND", "1990-01-01", "female", "75107", "99100");
        assert!(
            matches!(register.find(&asked), RegisterAnswer::Found(known) if known.given_names[1] == format!("N{number}"))
        );
    }
    let bytes = register.text.len() + std::mem::size_of_val(&*register.index);
    assert!(bytes / register.len() < 80, "{} bytes for each", bytes / register.len());
}

#[test]
fn two_persons_with_one_hash_are_not_confused() {
    let mut register = read(
        "Anne,DURAND,1990-01-01,female,75107,99100,\nEve,PETIT,1990-01-01,female,75107,99100,\n",
    )
    .unwrap();
    let eve = person("Eve", "PETIT", "1990-01-01", "female", "75107", "99100");
    let shared = pivot_hash(&Pivot::from_identity(&eve, "99100").unwrap());
    register.index = register.index.iter().map(|(_, start)| (shared, *start)).collect();
    assert!(
        matches!(register.find(&eve), RegisterAnswer::Found(known) if known.given_names == ["Eve"])
    );
}

#[test]
fn only_a_found_person_can_log_in() {
    let anne = person("Anne", "DURAND", "1990-01-01", "female", "75107", "99100");
    assert_eq!(RegisterAnswer::Corrected(Box::new(anne.clone())).into_identity(), Ok(anne));
    for answer in [
        RegisterAnswer::NotFound,
        RegisterAnswer::MultipleMatches,
        RegisterAnswer::Deceased,
        RegisterAnswer::Refused,
    ] {
        let code = answer.into_identity().unwrap_err().entry();
        assert!(code.code.starts_with("Y01000") && code.oauth == "access_denied");
    }
}

use super::FanSet;
use std::path::Path;

fn file(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profiles");
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (directory, path)
}

fn load(text: &str) -> FanSet {
    let (_directory, path) = file(text);
    FanSet::load(&path).unwrap()
}

fn refuse(text: &str) -> String {
    let (_directory, path) = file(text);
    FanSet::load(&path).err().map(|error| error.to_string().replace(&path, "FILE")).unwrap()
}

fn profiles(set: &FanSet) -> Vec<Vec<&str>> {
    let name = |&id: &u32| std::str::from_utf8(set.pages.get(id)).unwrap();
    (0..set.profiles()).map(|at| set.profile(at).iter().map(name).collect()).collect()
}

#[test]
fn tab_separated_profiles_are_read_and_repeated_pages_dropped() {
    let set = load("u1\tbeer cheese beer\nu2\t\n\nu3\tcheese  wine\r\n");
    assert_eq!(profiles(&set), [vec!["beer", "cheese"], vec![], vec!["cheese", "wine"]]);
    assert_eq!((set.repeated(), set.mentions().len(), set.pages.len()), (1, 4, 3));
}

#[test]
fn bracket_profiles_are_read_with_quotes_escapes_and_spaces_in_names() {
    let set = load(
        r#"193839: { fanof:['cheese','beer'] }
'u:2' : {"fanof" : [ "O'Neill \"x\"" , 'it\'s a {page}, yes' ] },
7:{fanof:[]}
8: { fanof:['\u00e4\ud83c\udf7a\/ä'] }
"#,
    );
    assert_eq!(
        profiles(&set),
        [vec!["cheese", "beer"], vec!["O'Neill \"x\"", "it's a {page}, yes"], vec![], vec!["ä\u{1f37a}/ä"]]
    );
}

#[test]
fn braces_in_a_tab_separated_name_do_not_make_it_the_other_format() {
    assert_eq!(profiles(&load("u:1\ta:{b} c\n")), [vec!["a:{b}", "c"]]);
}

#[test]
fn malformed_input_is_named_by_line_column_and_remedy() {
    for (text, expected) in [
        ("u1\ta\nu2 b\n", "FILE, line 2, column 5: no tab after the profile; write the profile, one tab"),
        ("ü1\ta\tb\n", "FILE, line 1, column 5: a second tab in the line; separate pages by spaces"),
        ("u1\ta\u{1}b\n", "FILE, line 1, column 4: a page name holds the control character 0x01; remove it"),
        ("\n1: { fanof:['a' 'b'] }\n", "FILE, line 2, column 17: expected ',' or ']' after a page name, found '\\''"),
        ("1: { fanof:['ab] }\n", "FILE, line 1, column 19: expected the closing quote, found the end of the line"),
        ("1: { fans:['a'] }\n", "FILE, line 1, column 6: expected fanof, found 'f'"),
        ("1: { fanof:[''] }\n", "FILE, line 1, column 13: expected a page name that is not empty, found '\\''"),
        ("1: { fanof:['\\x'] }\n", "FILE, line 1, column 14: expected one of the escapes"),
        ("1: { fanof:['\\ud83c'] }\n", "FILE, line 1, column 14: expected one of the escapes"),
        ("1: { fanof:['a'] } x\n", "FILE, line 1, column 20: expected the end of the line, found 'x'"),
        ("u1\t\n", "FILE: it holds no profile with a page; write one profile per line"),
    ] {
        let error = refuse(text);
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    let error = FanSet::load("debian").err().unwrap().to_string();
    assert!(error.contains("debian-1k"), "{error}");
    let error = FanSet::load("gen:10000").err().unwrap().to_string();
    assert!(error.contains("gen:10000:42"), "{error}");
}

#[test]
fn the_generator_gives_the_bytes_of_the_reference() {
    let set = FanSet::load("gen:10000:42").unwrap();
    assert_eq!(set.digest(), "sha256:41a792469ab46c5c904164f736b1462f63d1575462e6ce686e25065d14cbf1c5");
    assert_eq!((set.text_bytes(), set.profiles()), (3_505_198, 10_000));
    assert_eq!((set.mentions().len(), set.pages.len()), (100_447, 27_812));
}

#[test]
fn the_shipped_data_sets_are_whole() {
    let set = FanSet::load("debian-10k").unwrap();
    assert_eq!((set.profiles(), set.mentions().len(), set.pages.len(), set.repeated()), (10_000, 49_032, 13_194, 0));
    assert_eq!(set.digest(), "sha256:7c005a99cc9870ca856671f6e63e509e92ec727bfab328b300e1f52cf8d989ac");
    let cut = FanSet::load("debian-1k").unwrap();
    assert_eq!(cut.profiles(), 1000);
    assert_eq!(profiles(&cut)[..], profiles(&set)[..1000]);
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/fans/debian_fans_10k.tsv.gz");
    assert_eq!(profiles(&FanSet::load(&packed.display().to_string()).unwrap()), profiles(&set));
}

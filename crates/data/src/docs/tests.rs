use super::{DocSet, Generator, IdScheme, Scalar, fields};
use std::path::PathBuf;

fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn load(text: &str, scheme: &IdScheme) -> Result<DocSet, String> {
    let (_directory, path) = file("docs", text);
    DocSet::load(path.to_str().unwrap(), scheme).map_err(|error| error.to_string())
}

fn refused(text: &str, scheme: &IdScheme) -> String {
    load(text, scheme).err().unwrap_or_else(|| panic!("{text} was taken"))
}

fn field(name: &str) -> IdScheme {
    IdScheme::Field(name.split('.').map(str::to_owned).collect())
}

fn id(set: &DocSet, at: usize) -> &str {
    std::str::from_utf8(set.id(at)).unwrap()
}

fn document(set: &DocSet, at: usize) -> &str {
    std::str::from_utf8(set.document(at)).unwrap()
}

#[test]
fn generated_documents_are_those_of_the_reference_implementation() {
    // sha256 of the output of the reference, an unrelated script in Python, for 20,000 documents and seed 42: ID TAB DOCUMENT.
    let set = DocSet::load("gen:20000:42", &IdScheme::Sequential).unwrap();
    assert_eq!((set.len(), set.text_bytes()), (20_000, 5_356_774));
    assert_eq!(set.digest(), "sha256:c915f3c8ec3d0238cdaf3a0f9374d6a76b6438fa52152f5ff7335485ef00ba84");
    assert!(
        document(&set, 0)
            .starts_with(r#"{"type":"g003","user":"u01036","time":1230768007,"n":34419,"text":"repot zulupoj"#)
    );
    assert!((0..set.len()).all(|at| (100..=512).contains(&set.document(at).len())));
    let mut text = String::new();
    Generator::new(42).document(&mut text);
    assert_eq!(text, document(&set, 0));
}

#[test]
fn the_shipped_documents_are_those_their_credit_names() {
    let set = DocSet::load("geonames-20k", &IdScheme::Sequential).unwrap();
    assert_eq!((set.len(), set.document_bytes(), set.text_bytes()), (20_000, 5_190_299, 5_210_299));
    let credit = include_str!("../../../../data/docs/README.md");
    assert!(
        credit.contains(set.digest().trim_start_matches("sha256:")) && credit.contains("Creative Commons"),
        "{}",
        set.digest()
    );
    assert_eq!(DocSet::load("geonames-1k", &IdScheme::Sequential).unwrap().len(), 1000);
}

#[test]
fn ids_rise_with_the_number_or_are_its_md5() {
    let text = "{\"a\":1}\n\n{\"a\":2}\n";
    let set = load(text, &IdScheme::Sequential).unwrap();
    assert_eq!((id(&set, 0), id(&set, 1), set.line(1)), ("0000000001", "0000000002", 3));
    let set = load(text, &IdScheme::Random).unwrap();
    // printf 1 | md5sum
    assert_eq!((id(&set, 0), id(&set, 1)), ("c4ca4238a0b923820dcc509a6f75849b", "c81e728d9d4c2f636f067f89cc14862c"));
    assert_eq!(set.in_id_order(), [0, 1]);
    let set = load("{\"a\":{\"b\":\"z\"}}\n{\"a\":{\"b\":7}}\n", &field("a.b")).unwrap();
    assert_eq!((id(&set, 0), id(&set, 1), set.in_id_order()), ("z", "7", vec![1, 0]));
}

#[test]
fn ids_of_the_file_are_kept_or_must_be_those_asked_for() {
    let own = "b\t{\"a\":1}\na\t{\"a\":2}\n";
    let set = load(own, &IdScheme::Own).unwrap();
    assert_eq!((id(&set, 0), document(&set, 0), set.in_id_order()), ("b", "{\"a\":1}", vec![1, 0]));
    let message = refused(own, &IdScheme::Sequential);
    assert!(message.contains("line 1") && message.contains("0000000001") && message.contains("ids=own"), "{message}");
    assert!(refused(own, &IdScheme::Random).contains("ids=random would replace"));
    assert!(load("0000000001\t{}\n0000000002\t{}\n", &IdScheme::Sequential).is_ok());
    let message = refused("0000000001\t{}\n0000000003\t{}\n", &IdScheme::Sequential);
    assert!(message.contains("line 2") && message.contains("would make it 0000000002"), "{message}");
    assert!(refused("{}\n", &IdScheme::Own).contains("write ID TAB DOCUMENT"));
}

#[test]
fn an_id_that_is_there_twice_is_named_with_both_lines() {
    let message = refused("x\t{}\ny\t{}\n\nx\t{}\n", &IdScheme::Own);
    assert!(message.contains("line 4") && message.contains("id x is on line 1 already"), "{message}");
    assert!(refused("{\"k\":1}\n{\"k\":1}\n", &field("k")).contains("line 2"));
}

#[test]
fn a_malformed_document_is_named_by_line_column_and_field() {
    let message = refused("{\"a\":1}\n{\"a\":1,,}\n", &IdScheme::Sequential);
    assert!(message.contains("line 2, column 8") && message.contains("not JSON"), "{message}");
    let message = refused("{\"a\":1}\nx\t{\"a\":1\n", &IdScheme::Own);
    assert!(message.contains("line 2, column 8") || message.contains("line 1"), "{message}");
    assert!(refused("[1,2]{\n", &IdScheme::Sequential).contains("JSON object"));
    let message = refused("{\"k\":1}\n{\"k\":1.5}\n", &field("k"));
    assert!(message.contains("line 2") && message.contains("'k'"), "{message}");
    assert!(refused("\n\n", &IdScheme::Sequential).contains("no document"));
}

#[test]
fn csv_becomes_documents_with_the_names_of_its_header() {
    let set = load("name,people,note\nA \"b\",12,\n\"x, y\n2\",-0.5,012\n", &IdScheme::Sequential).unwrap();
    assert_eq!(document(&set, 0), r#"{"name":"A \"b\"","people":12,"note":null}"#);
    assert_eq!(document(&set, 1), r#"{"name":"x, y\n2","people":-0.5,"note":"012"}"#);
    assert_eq!((set.len(), set.line(1)), (2, 3));
    let message = refused("a,b\n1,2\n1,2,3\n", &IdScheme::Sequential);
    assert!(message.contains("line 3") && message.contains("3 fields, the header names 2"), "{message}");
    assert!(refused("a,a\n1,2\n", &IdScheme::Sequential).contains("two columns"));
    assert!(refused("a,\n1,2\n", &IdScheme::Sequential).contains("column 2"));
}

#[test]
fn fields_of_csv_may_be_separated_by_semicolons_or_tabs() {
    for text in ["name;people\n\"a;b, c\";2\n", "name\tpeople\na;b, c\t2\n", "\"na\"\"me,;,;\",people\n\"a;b, c\",2\n"]
    {
        let set = load(text, &IdScheme::Sequential).unwrap();
        assert!(document(&set, 0).ends_with(r#":"a;b, c","people":2}"#), "{text}: {}", document(&set, 0));
    }
    let set = load("name\nx,y\n", &IdScheme::Sequential);
    assert!(set.is_err_and(|error| error.contains("2 fields")));
}

#[test]
fn a_quote_of_csv_that_is_not_closed_is_named_where_it_opens() {
    for (text, place) in [
        ("\"name,people\na,1\n", "line 1, column 1:"),
        ("name,\"people\na,1\n", "line 1, column 6:"),
        ("name,people\n\"a\nb\",1\nc,\"2\nd,3\n", "line 4, column 3:"),
    ] {
        let message = refused(text, &IdScheme::Sequential);
        assert!(
            message.contains(place) && message.contains("the quote that opens here is not closed"),
            "{text}: {message}"
        );
    }
    // A quote within a field is none.
    let set = load("name,people\n5\" disk,\"say \"\"a\"\"\"\n", &IdScheme::Sequential).unwrap();
    assert_eq!(document(&set, 0), r#"{"name":"5\" disk","people":"say \"a\""}"#);
}

#[test]
fn a_name_that_is_there_twice_in_an_object_is_refused_with_its_line() {
    for (text, place) in [
        ("{\"a\":1}\n{\"a\":1,\"b\":2,\"a\":3}\n", "line 2, column 16: the name 'a' is there twice"),
        ("{\"a\":{\"b\":[{\"c\":1,\"\\u0063\":2}]}}\n", "the name 'c' is there twice in one object; give every member"),
    ] {
        let message = refused(text, &IdScheme::Sequential);
        assert!(message.contains(place), "{message}");
    }
    assert!(load("{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":\" at line 1\"}]}\n", &IdScheme::Sequential).is_ok());
}

#[test]
fn fields_are_found_at_any_depth_and_of_any_type() {
    let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
    let document =
        br#"{"x":[{"a":1}],"a":{"b":{"c":"d\n"},"n":-7},"t":true,"big":18446744073709551615,"f":1.5,"s":"plain"}"#;
    let one = |name: &str| {
        let [found] = fields(document, [&path(name)]).unwrap();
        found
    };
    assert_eq!(one("a.b.c"), Scalar::Text("d\n".into()));
    assert_eq!(one("a.n"), Scalar::Integer(-7));
    for other in ["t", "big", "f", "a", "x"] {
        assert_eq!(one(other), Scalar::Other, "{other}");
    }
    assert_eq!((one("c"), one("a.b.c.d"), one("x.a")), (Scalar::Missing, Scalar::Missing, Scalar::Missing));
    let [s, n] = fields(document, [&path("s"), &path("a.n")]).unwrap();
    assert!(matches!(s, Scalar::Text(std::borrow::Cow::Borrowed("plain"))) && n == Scalar::Integer(-7));
    assert!(fields(b"[1]", [&path("a")]).is_err() && fields(b"{", [&path("a")]).is_err());
}

// An evaluator in Rust: which share of the words the candidate and the example's `target` have in common.
// Rust's library has no JSON (people take serde_json): `value` relies on a payload being JSON on one line.
// echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | ./word_share
use std::{collections::HashMap, collections::HashSet, io::stdin, io::BufRead};
type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;
enum Json { Text(String), Values(HashMap<String, Json>) } // a list's values stand under their places
fn skip(chars: &mut Chars) -> char {
    while chars.next_if(|&c| " \t\r\n,:".contains(c)).is_some() {}
    *chars.peek().expect("stdin ended inside a payload")
}
fn value(chars: &mut Chars) -> Json {
    let (first, mut values) = (skip(chars), HashMap::new());
    if first == '"' { return Json::Text(text(chars)); }
    chars.next();
    let is_word = !"{[".contains(first); // a number, true, false or null, which are passed over
    while chars.next_if(|&c| is_word && !",]} \t\r\n".contains(c)).is_some() {}
    while !is_word && !"]}".contains(skip(chars)) {
        let key = if first == '{' { text(chars) } else { values.len().to_string() };
        values.insert(key, value(chars));
    }
    if !is_word { chars.next(); }
    Json::Values(values)
}
fn text(chars: &mut Chars) -> String {
    let mut units: Vec<u16> = Vec::new(); // an escape is a unit of UTF-16
    chars.next();
    while let Some(c) = chars.next().filter(|&c| c != '"') {
        let sign = if c == '\\' { chars.next().unwrap_or(c) } else { c };
        match "bfnrtu".find(sign).filter(|_| c == '\\') {
            Some(5) => units.extend(u16::from_str_radix(&chars.take(4).collect::<String>(), 16)),
            Some(at) => units.push(b"\x08\x0c\n\r\t"[at].into()),
            None => units.extend_from_slice(sign.encode_utf16(&mut [0; 2])),
        }
    }
    String::from_utf16_lossy(&units)
}
fn member<'a>(json: Option<&'a Json>, key: &str) -> Option<&'a Json> {
    if let Some(Json::Values(values)) = json { values.get(key) } else { None }
}
fn said(json: Option<&Json>) -> &str { if let Some(Json::Text(text)) = json { text } else { "" } }
fn words(text: &str) -> Vec<String> { // letters and digits in a row; only A to Z are made small
    let parts = text.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric());
    parts.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}
fn judge(candidate: &str, target: &str) -> String { // change this: answer a score from 0 to 1, or an error, or a skip
    let (wanted, said) = (words(target), words(candidate));
    let (known, count): (HashSet<_>, _) = (said.iter().collect(), wanted.len().max(said.len()));
    let found = wanted.iter().filter(|word| known.contains(word)).count();
    if wanted.is_empty() { return r#""error":"the example needs a target, a text with a word in it""#.into(); }
    format!(r#""score":{},"found":{found},"words":{count}"#, found as f64 / count as f64)
}
fn main() {
    for line in stdin().lock().lines() { // further payloads may come as further lines
        let payload = value(&mut line.expect("stdin is UTF-8").chars().peekable());
        let of = |key| member(Some(&payload), key);
        let answer = judge(said(of("candidate")), said(member(of("example"), "target")));
        let id: String = said(of("_id")).encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let id = if id.is_empty() { id } else { format!(r#","_id":"{id}""#) };
        println!(r#"{{{answer},"_capabilities":{{"persistent":true}}{id}}}"#);
    }
}
